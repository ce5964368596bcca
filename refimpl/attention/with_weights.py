"""Attention that also tells its weights and the log-sum-exp of its scores."""

import math

from refimpl.arrays import (
    array_namespace,
    check_broadcastable,
    check_floating,
    check_gradients,
    check_rank,
    check_setting,
    check_shape,
    logsumexp,
    sum_to,
)
from refimpl.attention.mask import blank_unattended, check_mask
from refimpl.layers.softmax import softmax


def attention_with_weights(q, k, v, bias=None, *, mask=None, scale=None, softcap=None):
    """Gather values, and give away how they were weighed.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    bias : array, broadcasts to (..., n_query, n_key), optional
        Added to the scores; minus infinity means weight 0.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before bias and mask.

    Returns
    -------
    y : tuple of array, shapes (..., n_query, d_value), (..., n_query, n_key) and (..., n_query)
        The output of `refimpl.attention.dot_product.attention`, the weights, and the natural logarithm of the sum of
        the exponentials of the scores; minus infinity where a query attends to no key.
    pullback : callable
        Maps (doutput, dweights, dlse) to ``(dq, dk, dv)``, or ``(dq, dk, dv, dbias)`` when there is a bias.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    ``need_weights=True`` of `torch.nn.MultiheadAttention` gives the mean over the heads; here each head has its own.
    By their log-sum-exp, results over parts of the keys can be merged.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, eq. 1.
    """
    xp = array_namespace(q, k, v, bias, mask)
    _check(q, k, v, bias, mask, softcap)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    queries = blank_unattended(q, mask, axis=-1)
    keys, values = (blank_unattended(x, mask, axis=-2) for x in (k, v))

    products = xp.matmul(queries, xp.swapaxes(keys, -1, -2)) * factor  # (..., n_query, n_key)
    bent = products if softcap is None else xp.tanh(products / softcap)
    capped = products if softcap is None else softcap * bent
    biased = capped if bias is None else capped + bias
    weights, softmax_pullback = softmax(biased, mask=mask)
    scores = biased if mask is None else xp.where(mask, biased, -math.inf)
    lse = logsumexp(scores)  # (..., n_query)
    y = (xp.matmul(weights, values), weights, lse)

    def pullback(dy):
        check_gradients(dy, y)
        doutput, dweights, dlse = dy
        dv = xp.matmul(xp.swapaxes(weights, -1, -2), doutput)
        (dsoftmax,) = softmax_pullback(dweights + xp.matmul(doutput, xp.swapaxes(values, -1, -2)))
        # The derivative of the log-sum-exp is the softmax.
        dscores = dsoftmax + weights * dlse[..., None]
        dproducts = dscores if softcap is None else dscores * (1.0 - bent * bent)
        dq = xp.matmul(dproducts, keys) * factor
        dk = xp.matmul(xp.swapaxes(dproducts, -1, -2), queries) * factor
        return (dq, dk, dv) if bias is None else (dq, dk, dv, sum_to(dscores, bias.shape))

    return y, pullback


def _check(q, k, v, bias, mask, softcap):
    check_floating(q=q, k=k, v=v, bias=bias)
    check_rank("q", q, 2)
    check_shape("k", k, (*q.shape[:-2], None, q.shape[-1]))
    check_shape("v", v, (*k.shape[:-1], None))
    scores_shape = (*q.shape[:-1], k.shape[-2])
    if bias is not None:
        check_broadcastable("bias", bias, scores_shape)
    check_mask(mask, scores_shape)
    check_setting("softcap", softcap, softcap is None or softcap > 0.0, "positive")
    check_setting("d_head", q.shape[-1], q.shape[-1] > 0, "at least 1")
