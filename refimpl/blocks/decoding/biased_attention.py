"""Unscaled, biased attention of the next positions of a text: to its past, and to another text, both remembered."""

from refimpl.arrays import array_namespace, scope
from refimpl.attention.cache.key_value import append, cache_mask, empty_cache
from refimpl.attention.cache.rows import next_positions
from refimpl.attention.dot_product import attention
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.mask import padding_mask
from refimpl.layers.linear import linear
from refimpl.positions.bucketed import bucketed_bias


def biased_self_decode(x, params, past, distances, *, n_head, max_distance, is_token=None):
    """Let new positions attend to themselves and to all that a cache remembers.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `biased_attention`.
    past : KeyValueCache
        Keys and values of the past.
    distances : dict of array
        As for `bucketed_bias`, one-sided.
    n_head : int
        The number of heads.
    max_distance : int
        As for `bucketed_bias`.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What `biased_attention` gives at these positions of the whole sequence, causally masked.
    KeyValueCache
        The past with the new positions.
    """
    array_namespace(x, params, distances, is_token)
    q, k, v = (split_heads(linear(x, scope(params, part))[0], n_head) for part in ("q_proj.", "k_proj.", "v_proj."))
    grown = append(past, k, v, is_token=is_token)
    positions = next_positions(past.n_seen, x.shape[1], is_token=is_token)
    bias = distance_bias(positions, grown.positions, distances, max_distance=max_distance)
    gathered, _ = attention(q, grown.k, grown.v, bias, mask=cache_mask(grown, positions), scale=1.0)
    return linear(join_heads(gathered), scope(params, "o_proj."))[0], grown


def biased_cross_decode(x, params, past, *, n_head):
    """Let new positions attend to another sequence, whose keys and values are remembered.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `biased_attention`.
    past : KeyValueCache
        As `remember_unscaled` gives it.
    n_head : int
        The number of heads.

    Returns
    -------
    array, shape (n_batch, n_new, d_model)
        What `biased_attention` gives at these positions, without a bias.
    """
    q = split_heads(linear(x, scope(params, "q_proj."))[0], n_head)
    gathered, _ = attention(q, past.k, past.v, mask=padding_mask(past.positions >= 0), scale=1.0)
    return linear(join_heads(gathered), scope(params, "o_proj."))[0]


def remember_unscaled(memory, params, *, n_head, is_token=None):
    """Project what will be asked again and again, once.

    Parameters
    ----------
    memory : array, shape (n_batch, n_key, d_memory)
        The sequence that is asked, such as an encoder's output.
    params : dict of array
        As for `biased_attention`.
    n_head : int
        The number of heads.
    is_token : array of bool, shape (n_batch, n_key), optional
        False for padding.

    Returns
    -------
    KeyValueCache
        Its keys and values, for `biased_cross_decode`.
    """
    k, v = (split_heads(linear(memory, scope(params, part))[0], n_head) for part in ("k_proj.", "v_proj."))
    return append(empty_cache(k.shape[0], n_head, k.shape[-1], like=memory), k, v, is_token=is_token)


def distance_bias(query_positions, key_positions, params, *, max_distance):
    """Look up what the distances between positions add to the scores, whatever lies between them in memory.

    Parameters
    ----------
    query_positions, key_positions : array of int, shapes (n_batch, n_query) and (n_batch, n_key)
        Where they stand in the text of their row; -1 for padding.
    params : dict of array
        As for `bucketed_bias`, one-sided.
    max_distance : int
        As for `bucketed_bias`.

    Returns
    -------
    array, shape (n_batch, n_head, n_query, n_key)
        The bias; that of keys after their query means nothing, for they are masked.
    """
    xp = array_namespace(query_positions, key_positions, params)
    # From max_distance on all are alike: the bias of each distance up to there is all there is to know.
    by_distance, _ = bucketed_bias(
        params, n_query=1, n_key=max_distance + 1, max_distance=max_distance, bidirectional=False
    )
    distances = query_positions[:, :, None] - key_positions[:, None, :]
    nearby = xp.where(distances < 0, 0, xp.where(distances > max_distance, max_distance, distances))
    return xp.moveaxis(by_distance[:, 0, max_distance - nearby], 0, 1)
