"""Multi-head attention of the next positions of a text: to its past, and to another text, both remembered."""

from refimpl.arrays import array_namespace, check_setting, scope
from refimpl.attention.cache.key_value import append, cache_mask, empty_cache
from refimpl.attention.cache.rows import next_positions
from refimpl.attention.dot_product import attention
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.mask import padding_mask
from refimpl.layers.linear import linear


def self_attention_decode(x, params, past, *, n_head, is_token=None):
    """Let new positions attend to themselves and to all that a cache remembers.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `refimpl.attention.multi_head.self_attention`, with ``in_proj_weight``.
    past : KeyValueCache
        Keys and values of the past.
    n_head : int
        The number of heads.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What `self_attention` gives at these positions of the whole sequence, causally masked.
    KeyValueCache
        The past with the new positions.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, `is_token` not boolean, or dtypes or libraries differ.
    """
    xp = array_namespace(x, params, is_token)
    d_model = x.shape[-1]
    check_setting("n_head", n_head, n_head > 0 and d_model % n_head == 0, f"a divisor of d_model = {d_model}")
    projected, _ = linear(x, scope(params, "in_proj_"))
    q, k, v = (split_heads(part, n_head) for part in xp.split(projected, 3, axis=-1))
    grown = append(past, k, v, is_token=is_token)
    mask = cache_mask(grown, next_positions(past.n_seen, x.shape[1], is_token=is_token))
    gathered, _ = attention(q, grown.k, grown.v, mask=mask)
    y, _ = linear(join_heads(gathered), scope(params, "out_proj."))
    return y, grown


def remember(memory, params, *, n_head, is_token=None):
    """Project what will be asked again and again, once.

    Parameters
    ----------
    memory : array, shape (n_batch, n_key, d_model)
        The sequence that is asked, such as an encoder's output.
    params : dict of array
        As for `refimpl.attention.multi_head.cross_attention`, with ``in_proj_weight``.
    n_head : int
        The number of heads.
    is_token : array of bool, shape (n_batch, n_key), optional
        False for padding.

    Returns
    -------
    KeyValueCache
        Its keys and values, for `cross_attention_decode`.
    """
    xp = array_namespace(memory, params, is_token)
    d_model = memory.shape[-1]
    check_setting("n_head", n_head, n_head > 0 and d_model % n_head == 0, f"a divisor of d_model = {d_model}")
    of_memory = {key: param[d_model:] for key, param in scope(params, "in_proj_").items()}
    projected, _ = linear(memory, of_memory)
    k, v = (split_heads(part, n_head) for part in xp.split(projected, 2, axis=-1))
    return append(empty_cache(memory.shape[0], n_head, d_model // n_head, like=memory), k, v, is_token=is_token)


def cross_attention_decode(x, params, past, *, n_head):
    """Let new positions attend to another sequence, whose keys and values are remembered.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `refimpl.attention.multi_head.cross_attention`, with ``in_proj_weight``.
    past : KeyValueCache
        As `remember` gives it.
    n_head : int
        The number of heads.

    Returns
    -------
    array, shape (n_batch, n_new, d_model)
        What `cross_attention` gives at these positions.
    """
    array_namespace(x, params, past.k)
    d_model = x.shape[-1]
    of_x = {key: param[:d_model] for key, param in scope(params, "in_proj_").items()}
    q, _ = linear(x, of_x)
    gathered, _ = attention(split_heads(q, n_head), past.k, past.v, mask=padding_mask(past.positions >= 0))
    return linear(join_heads(gathered), scope(params, "out_proj."))[0]
