"""Multi-head self-attention of the next positions of a text whose past is remembered."""

from refimpl.arrays import array_namespace, check_setting, scope
from refimpl.attention.cache import append, cache_mask
from refimpl.attention.cache_rows import next_positions
from refimpl.attention.dot_product import attention
from refimpl.attention.heads import join_heads, split_heads
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

