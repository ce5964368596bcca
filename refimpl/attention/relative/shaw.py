"""Attention with learned relative positions of keys and values (Shaw, Uszkoreit, Vaswani 2018)."""

import math

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_params,
    check_rank,
    check_setting,
    check_shape,
    scatter_add,
)
from refimpl.attention.dot_product import attention_weights
from refimpl.attention.mask import blank_unattended, check_mask

KEYS = ("relative_key.weight", "relative_value.weight")


def shaw_attention(q, k, v, params, *, mask=None, scale=None):
    """Attend to keys and gather values, each moved by a vector learned for its distance.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries; the last one is at the position of the last key.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    params : dict of array
        ``relative_key.weight`` of shape (2 * max_distance + 1, d_head), and optionally ``relative_value.weight`` of
        shape (2 * max_distance + 1, d_value); row max_distance belongs to distance 0, rows before it to keys before
        the query.  Keys farther away share the first or the last row.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the scores; by default ``1 / sqrt(d_head)``.

    Returns
    -------
    y : array, shape (..., n_query, d_value)
        The sum of ``weight (v + relative value)``, weights by softmax of ``q (k + relative key) / sqrt(d_head)``.
    pullback : callable
        Maps dy to ``(dq, dk, dv, dparams)``; all pairs at one distance add up.

    Raises
    ------
    ValueError
        If shapes or parameter names do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    References
    ----------
    Shaw, Uszkoreit, Vaswani (2018), "Self-Attention with Relative Position Representations", arXiv:1803.02155,
    eq. 3 to 5.
    """
    xp = array_namespace(q, k, v, params, mask)
    rows = _relative_rows(q, k, v, params, mask)  # (n_query, n_key)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale

    queries, values = blank_unattended(q, mask, axis=-1), blank_unattended(v, mask, axis=-2)
    relative = {key: table[rows] for key, table in params.items()}  # (n_query, n_key, d)
    bias = xp.einsum("...qd,qkd->...qk", queries, relative[KEYS[0]]) * factor
    weights, weights_pullback = attention_weights(q, k, bias, mask=mask, scale=scale)
    gathered = xp.matmul(weights, values)
    y = gathered + xp.einsum("...qk,qkd->...qd", weights, relative[KEYS[1]]) if KEYS[1] in params else gathered

    def pullback(dy):
        check_gradient(dy, (*weights.shape[:-1], values.shape[-1]), values.dtype)
        dweights = xp.matmul(dy, xp.swapaxes(values, -1, -2))
        dv = xp.matmul(xp.swapaxes(weights, -1, -2), dy)
        if KEYS[1] in params:
            dweights = dweights + xp.einsum("...qd,qkd->...qk", dy, relative[KEYS[1]])
        dq, dk, dbias = weights_pullback(dweights)
        dscores = dbias * factor
        dq_relative = xp.einsum("...qk,qkd->...qd", dscores, relative[KEYS[0]])
        pairs = {KEYS[0]: (dscores, queries), KEYS[1]: (weights, dy)}
        return dq + dq_relative, dk, dv, {key: _dtable(*pairs[key], rows, params[key]) for key in params}

    return y, pullback


def _dtable(over_keys, over_features, rows, table):
    # (..., n_query, n_key) and (..., n_query, d): the outer product is summed over the batch, then by distance.
    xp = array_namespace(over_keys, over_features, rows, table)
    n_query, n_key = rows.shape
    n_lead = math.prod(over_keys.shape[:-2])
    flat_keys = xp.reshape(over_keys, (n_lead, n_query, n_key))
    flat_features = xp.reshape(over_features, (n_lead, n_query, table.shape[-1]))
    outer = xp.einsum("bqk,bqd->qkd", flat_keys, flat_features)
    n_pair = n_query * n_key
    return scatter_add(xp.reshape(rows, (n_pair,)), xp.reshape(outer, (n_pair, table.shape[-1])), table.shape[0])


def _relative_rows(q, k, v, params, mask):
    """Check, and look up the row of every query and key."""
    xp = array_namespace(q, k, v, params, mask)
    check_params(params, [KEYS[0]], optional=[KEYS[1]])
    check_floating(q=q, k=k, v=v, params=params)
    check_rank("q", q, 2)
    check_shape("k", k, (*q.shape[:-2], None, q.shape[-1]))
    check_shape("v", v, (*k.shape[:-1], None))
    check_mask(mask, (*q.shape[:-1], k.shape[-2]))
    n_row = params[KEYS[0]].shape[0] if params[KEYS[0]].shape else 0
    for key, array in zip(KEYS, (k, v), strict=True):
        if key in params:
            check_shape(key, params[key], (n_row, array.shape[-1]))
    check_setting("the number of relative positions", n_row, n_row % 2 == 1, "odd, 2 * max_distance + 1")

    n_query, n_key, max_distance = q.shape[-2], k.shape[-2], n_row // 2
    ahead = xp.arange(n_key)[None, :] - xp.arange(n_key - n_query, n_key)[:, None]
    not_before = xp.where(ahead < -max_distance, -max_distance, ahead)
    return xp.where(not_before > max_distance, max_distance, not_before) + max_distance
