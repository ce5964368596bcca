"""Grouped-query attention: fewer heads of keys and values than of queries (Ainslie et al. 2023, arXiv:2305.13245)."""

from refimpl.arrays import array_namespace, check_floating, check_rank, check_setting, check_shape
from refimpl.attention.dot_product import attention


def grouped_query_attention(q, k, v, bias=None, *, mask=None, scale=None, softcap=None, keep=None, rate=0.0):
    """Attend with groups of query heads that share a head of keys and values.

    Parameters
    ----------
    q : array, shape (..., n_head, n_query, d_head)
        Queries.
    k : array, shape (..., n_kv_head, n_key, d_head)
        Keys; n_kv_head divides n_head.  One head is multi-query attention, n_head heads are multi-head attention.
    v : array, shape (..., n_kv_head, n_key, d_value)
        Values.
    bias : array, broadcasts to (..., n_head, n_query, n_key), optional
        Added to the scores; minus infinity means weight 0.
    mask : array of bool, broadcasts to (..., n_head, n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before bias and mask.
    keep : array of bool, shape (..., n_head, n_query, n_key), optional
        Keep-mask of the dropout of the weights; None (evaluation) drops nothing.
    rate : float, optional
        The rate with which `keep` was drawn.

    Returns
    -------
    y : array, shape (..., n_head, n_query, d_value)
        What every query head gathers; 0 where a query attends to no key.
    pullback : callable
        Maps dy to ``(dq, dk, dv)``, or ``(dq, dk, dv, dbias)`` when there is a bias.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the masks not boolean, or dtypes or libraries differ.

    Notes
    -----
    Query heads 0 and 1 of four share key head 0 of two, and 2 and 3 share head 1 (``repeat_interleave``, and
    ``enable_gqa=True`` of PyTorch), not 0 and 2, 1 and 3.

    References
    ----------
    Ainslie et al. (2023), "GQA: Training Generalized Multi-Query Transformer Models", arXiv:2305.13245, section 2.2.
    Shazeer (2019), "Fast Transformer Decoding: One Write-Head is All You Need", arXiv:1911.02150.
    """
    xp = array_namespace(q, k, v, bias, mask, keep)
    n_group = _check(q, k, v)

    many_k, k_pullback = _repeat_heads(xp, k, n_group)  # (..., n_head, n_key, d_head)
    many_v, v_pullback = _repeat_heads(xp, v, n_group)
    y, attention_pullback = attention(
        q, many_k, many_v, bias, mask=mask, scale=scale, softcap=softcap, keep=keep, rate=rate
    )

    def pullback(dy):
        dq, dmany_k, dmany_v, *dbias = attention_pullback(dy)
        (dk,) = k_pullback(dmany_k)
        (dv,) = v_pullback(dmany_v)
        return dq, dk, dv, *dbias

    return y, pullback


def _repeat_heads(xp, x, n_group):
    *batch, n_head, n_seq, d = x.shape

    def pullback(dmany):
        # Every head was used by all queries of its group.
        return (xp.sum(xp.reshape(dmany, (*batch, n_head, n_group, n_seq, d)), axis=x.ndim - 2),)

    return xp.reshape(xp.stack([x] * n_group, axis=x.ndim - 2), (*batch, n_head * n_group, n_seq, d)), pullback


def _check(q, k, v):
    check_floating(q=q, k=k, v=v)
    check_rank("q", q, 3)
    check_shape("k", k, (*q.shape[:-3], None, None, q.shape[-1]))
    check_shape("v", v, (*k.shape[:-1], None))
    n_head, n_kv_head = q.shape[-3], k.shape[-3]
    fits = n_kv_head > 0 and n_head % n_kv_head == 0 and n_head > 0
    check_setting("n_kv_head", n_kv_head, fits, f"a divisor of n_head = {n_head}")
    return n_head // n_kv_head
