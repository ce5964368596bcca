"""Attention sinks: somewhere to attend to when there is nothing to attend to."""

from refimpl.arrays import (
    array_namespace,
    check_broadcastable,
    check_floating,
    check_rank,
    check_setting,
    check_shape,
    sum_to,
)
from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.mask import causal_mask, check_mask


def sink_attention(q, k, v, sink, bias=None, *, mask=None, scale=None, softcap=None):
    """Attend, with a learned score in every softmax that takes weight away and gives no value.

    Parameters
    ----------
    q : array, shape (..., n_head, n_query, d_head)
        Queries.
    k : array, shape (..., n_kv_head, n_key, d_head)
        Keys; n_kv_head divides n_head.
    v : array, shape (..., n_kv_head, n_key, d_value)
        Values.
    sink : array, shape (n_head,)
        The score of every head's sink.
    bias : array, broadcasts to (..., n_head, n_query, n_key), optional
        Added to the scores of the keys; minus infinity means weight 0.
    mask : array of bool, broadcasts to (..., n_head, n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores of the keys, not that of the sink, into (-softcap, softcap).

    Returns
    -------
    y : array, shape (..., n_head, n_query, d_value)
        Weighted values, whose weights sum to less than 1; 0 where a query attends to no key.
    pullback : callable
        Maps dy to ``(dq, dk, dv, dsink)``, or ``(dq, dk, dv, dsink, dbias)`` when there is a bias.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    The ``sinks`` of GPT-OSS in Hugging Face.  A sink of 0 is the softmax with 1 added to its denominator ("softmax
    off by one"); a sink of minus infinity is attention without one.

    References
    ----------
    OpenAI (2025), "gpt-oss-120b & gpt-oss-20b Model Card", arXiv:2508.10925, section 2.
    """
    xp = array_namespace(q, k, v, sink, bias, mask)
    _check(q, k, v, sink, bias, mask)
    n_head, d_head = q.shape[-3], q.shape[-1]
    n_key = k.shape[-2]

    # The sink is one more key, of no direction and no value, whose score is its bias.
    keys = xp.concatenate([k, xp.zeros((*k.shape[:-2], 1, d_head), dtype=k.dtype)], axis=-2)
    values = xp.concatenate([v, xp.zeros((*v.shape[:-2], 1, v.shape[-1]), dtype=v.dtype)], axis=-2)
    zeros = xp.zeros((n_head, 1, n_key), dtype=sink.dtype)
    of_keys = zeros if bias is None else bias + zeros  # (..., n_head, 1 or n_query, n_key)
    of_sink = sink[:, None, None] + xp.zeros((*of_keys.shape[:-1], 1), dtype=sink.dtype)
    biases = xp.concatenate([of_keys, of_sink], axis=-1)
    y, attention_pullback = grouped_query_attention(
        q, keys, values, biases, mask=_beside_sink(xp, mask, n_key), scale=scale, softcap=softcap
    )

    def pullback(dy):
        dq, dkeys, dvalues, dbiases = attention_pullback(dy)
        dk, dv = dkeys[..., :n_key, :], dvalues[..., :n_key, :]
        dsink = xp.reshape(sum_to(dbiases[..., n_key:], (n_head, 1, 1)), (n_head,))
        if bias is None:
            return dq, dk, dv, dsink
        return dq, dk, dv, dsink, sum_to(dbiases[..., :n_key], bias.shape)

    return y, pullback


def streaming_mask(n_query, n_key, *, window, n_sink, like):
    """Let every query attend to the newest keys, itself among them, and to the first of all.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys; the last of both stand at the same position.
    window : int
        How many keys up to its own position a query attends to.
    n_sink : int
        How many of the first keys every query after them attends to.
    like : array
        Any array of the library in which the mask is made.

    Returns
    -------
    array of bool, shape (n_query, n_key)
        True where a query attends to a key.

    Raises
    ------
    ValueError
        If the window is not positive, or the number of sinks negative.

    Notes
    -----
    A window of W counts the query itself, as ``sliding_window`` of Hugging Face does.  StreamingLLM rotates keys by
    their place among those that are left, not by their position in the text:
    `refimpl.attention.cache.key_value.cache_places`.

    References
    ----------
    Xiao et al. (2023), "Efficient Streaming Language Models with Attention Sinks", arXiv:2309.17453, section 3.2.
    """
    xp = array_namespace(like)
    check_setting("window", window, window > 0, "at least 1")
    check_setting("n_sink", n_sink, n_sink >= 0, "at least 0")
    keys, queries = xp.arange(n_key)[None, :], xp.arange(n_query)[:, None] + (n_key - n_query)
    return causal_mask(n_query, n_key, like=like) & ((keys > queries - window) | (keys < n_sink))


def _beside_sink(xp, mask, n_key):
    """Give a mask one more key, which every query attends to."""
    if mask is None:
        return None
    of_keys = mask & xp.ones((n_key,), dtype=xp.bool_)
    return xp.concatenate([of_keys, xp.ones((*of_keys.shape[:-1], 1), dtype=xp.bool_)], axis=-1)


def _check(q, k, v, sink, bias, mask):
    check_floating(q=q, k=k, v=v, sink=sink, bias=bias)
    check_rank("q", q, 3)
    check_rank("k", k, 3)
    check_rank("v", v, 3)
    check_shape("sink", sink, (q.shape[-3],))
    scores_shape = (*q.shape[:-1], k.shape[-2])
    if bias is not None:
        check_broadcastable("bias", bias, scores_shape)
    check_mask(mask, scores_shape)
