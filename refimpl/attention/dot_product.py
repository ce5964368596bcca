"""Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762, eq. 1)."""

import math

from refimpl.arrays import (
    array_namespace,
    check_broadcastable,
    check_floating,
    check_gradient,
    check_rank,
    check_setting,
    check_shape,
    number,
    sum_to,
)
from refimpl.attention.mask import blank_unattended, check_mask
from refimpl.layers.dropout import dropout
from refimpl.layers.softmax import softmax


def attention_weights(q, k, bias=None, *, mask=None, scale=None, softcap=None):
    """Weigh the keys for every query: how much attention it pays to each.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys.
    bias : array, broadcasts to (..., n_query, n_key), optional
        Added to the scores (an additive mask, or relative positions); minus infinity means weight 0.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap) by a tanh, before bias and mask.

    Returns
    -------
    y : array, shape (..., n_query, n_key)
        Weights; each row sums to 1, or is 0 where a query attends to no key.
    pullback : callable
        Maps dy to ``(dq, dk)``, or ``(dq, dk, dbias)`` when there is a bias.

    Raises
    ------
    ValueError
        If shapes do not fit, or the softcap is not positive.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, eq. 1.
    """
    xp = array_namespace(q, k, bias, mask)
    _check(q, k, bias, mask)
    check_setting("d_head", q.shape[-1], q.shape[-1] > 0, "at least 1")
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else number("scale", scale)
    cap = None if softcap is None else number("softcap", softcap, above=0.0)

    queries = blank_unattended(q, mask, axis=-1)
    keys = blank_unattended(k, mask, axis=-2)
    products = xp.matmul(queries, xp.swapaxes(keys, -1, -2)) * factor  # (..., n_query, n_key)
    capped = products if cap is None else cap * xp.tanh(products / cap)
    biased = capped if bias is None else capped + bias
    y, softmax_pullback = softmax(biased, mask=mask)

    def pullback(dy):
        (dbiased,) = softmax_pullback(dy)
        dproducts = dbiased if cap is None else dbiased * (1.0 - (capped / cap) * (capped / cap))
        dq = xp.matmul(dproducts, keys) * factor
        dk = xp.matmul(xp.swapaxes(dproducts, -1, -2), queries) * factor
        return (dq, dk) if bias is None else (dq, dk, sum_to(dbiased, bias.shape))

    return y, pullback


def attention(q, k, v, bias=None, *, mask=None, scale=None, softcap=None, keep=None, rate=0.0):
    """Gather values, weighted by how well their keys match each query.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    bias : array, broadcasts to (..., n_query, n_key), optional
        Added to the scores.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before bias and mask.
    keep : array of bool, shape (..., n_query, n_key), optional
        Keep-mask of the dropout of the weights; None (evaluation) drops nothing.
    rate : float, optional
        The rate with which `keep` was drawn.

    Returns
    -------
    y : array, shape (..., n_query, d_value)
        ``softmax(q k' / sqrt(d_head)) v``; 0 where a query attends to no key.
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
    A key or value that is masked for every query may hold NaN or inf.  PyTorch lets one float argument be either
    mask or bias; here a mask is boolean and a bias is added.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, eq. 1.
    """
    xp = array_namespace(q, k, v, bias, mask, keep)
    check_floating(q=q, k=k, v=v)
    check_rank("k", k, 2)
    check_shape("v", v, (*k.shape[:-1], None))
    weights, weights_pullback = attention_weights(q, k, bias, mask=mask, scale=scale, softcap=softcap)
    values = blank_unattended(v, mask, axis=-2)
    dropped, dropout_pullback = (weights, _identity) if keep is None else dropout(weights, keep=keep, rate=rate)
    y = xp.matmul(dropped, values)

    def pullback(dy):
        check_gradient(dy, (*dropped.shape[:-1], values.shape[-1]), values.dtype)
        ddropped = xp.matmul(dy, xp.swapaxes(values, -1, -2))
        dv = xp.matmul(xp.swapaxes(dropped, -1, -2), dy)
        (dweights,) = dropout_pullback(ddropped)
        dq, dk, *dbias = weights_pullback(dweights)
        return dq, dk, dv, *dbias

    return y, pullback


def _identity(dy):
    return (dy,)


def _check(q, k, bias, mask):
    check_floating(q=q, k=k, bias=bias)
    check_rank("q", q, 2)
    check_rank("k", k, 2)
    check_shape("k", k, (*q.shape[:-2], None, q.shape[-1]))
    scores_shape = (*q.shape[:-1], k.shape[-2])
    if bias is not None:
        check_broadcastable("bias", bias, scores_shape)
    check_mask(mask, scores_shape)
