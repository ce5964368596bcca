"""Attention in tiles, so that the scores are never there as a whole (FlashAttention; Dao 2022 and 2023)."""

import math
from dataclasses import dataclass
from typing import Any

from refimpl.arrays import (
    array_namespace,
    check_boolean,
    check_broadcastable,
    check_floating,
    check_gradients,
    check_setting,
    check_shape,
    sum_to,
)
from refimpl.attention.mask import blank_unattended
from refimpl.attention.shapes import check_heads
from refimpl.attention.tiled.tiles import cut, joined, tiles
from refimpl.layers.dropout import dropout


def tiled_attention(
    q, k, v, bias=None, *, mask=None, causal=False, scale=None, softcap=None, keep=None, rate=0.0, tile_query=128,
    tile_key=128,
):  # fmt: skip
    """Attend tile by tile, with memory that grows with the length and not with its square.

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
    causal : bool, optional
        Also mask the keys after each query, aligned bottom-right, without a mask of that size: tiles beyond the
        diagonal are skipped.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before bias and mask.
    keep : array of bool, shape (..., n_query, n_key), optional
        Keep-mask of the dropout of the weights; the log-sum-exp is that of all weights.
    rate : float, optional
        The rate with which `keep` was drawn.
    tile_query, tile_key : int, optional
        How many queries and keys a tile has; the result does not depend on them but for rounding.

    Returns
    -------
    y : tuple of array, shapes (..., n_query, d_value) and (..., n_query)
        The output of `refimpl.attention.dot_product.attention`, and the logarithm of the sum of the exponentials of
        the scores, by which partial results can be merged; minus infinity where a query attends to no key.
    pullback : callable
        Maps (doutput, dlse) to ``(dq, dk, dv)``, or ``(dq, dk, dv, dbias)`` when there is a bias.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the masks not boolean, or dtypes or libraries differ.

    Notes
    -----
    Natural logarithms, as everywhere; GPU kernels keep base 2 inside.  FlashAttention gives no gradient to the
    log-sum-exp; here it has one.  A mask or bias with both axes is itself of quadratic size.

    References
    ----------
    Dao et al. (2022), "FlashAttention", arXiv:2205.14135, algorithms 1 and 4.
    Dao (2023), "FlashAttention-2", arXiv:2307.08691, algorithms 1 and 2.
    """
    xp = array_namespace(q, k, v, bias, mask, keep)
    _check(q, k, v, bias, mask, keep, softcap, tile_query, tile_key)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    n_query, n_key = q.shape[-2], k.shape[-2]
    wide_bias = None if bias is None else xp.reshape(bias, (1,) * (2 - bias.ndim) + tuple(bias.shape))
    # Query i sees keys up to i + n_before: all of them where there is no causal mask.
    n_before = n_key - n_query if causal else n_key
    scores = _Scores(q, k, v, wide_bias, mask, keep, n_before, factor, softcap, rate)
    rows, columns = tiles(n_query, tile_query), tiles(n_key, tile_key)

    parts = [_attend(xp, scores, row, columns) for row in rows]
    output = xp.concatenate([part for part, _ in parts], axis=-2)  # (..., n_query, d_value)
    lse = xp.concatenate([part for _, part in parts], axis=-1)  # (..., n_query)
    y = (output, lse)

    def pullback(dy):
        check_gradients(dy, y)
        doutput, dlse = dy
        # The weights of a row sum to 1, so what lifts all of them alike moves nothing but the log-sum-exp.
        lift = dlse - xp.sum(doutput * output, axis=-1)
        shift = _finite(xp, lse)
        of_rows = [(doutput[..., i:j, :], shift[..., i:j, None], lift[..., i:j, None]) for i, j in rows]
        dq_parts = [xp.zeros_like(q[..., i:j, :]) for i, j in rows]
        dk_parts, dv_parts, dbias_parts = [], [], []
        for column in columns:
            dq_parts, dk, dv, dbias = _retrace(xp, scores, rows, column, of_rows, dq_parts)
            dk_parts.append(dk)
            dv_parts.append(dv)
            dbias_parts.append(dbias)
        dq, dk, dv = (xp.concatenate(each, axis=-2) for each in (dq_parts, dk_parts, dv_parts))
        if bias is None:
            return dq, dk, dv
        dwide = joined(dbias_parts, axis=-1, size=wide_bias.shape[-1])
        return dq, dk, dv, xp.reshape(dwide, bias.shape)

    return y, pullback


@dataclass(frozen=True)
class _Scores:
    """What the scores of every tile are made of."""

    q: Any
    k: Any
    v: Any
    bias: Any
    mask: Any
    keep: Any
    n_before: int
    factor: float
    softcap: float | None
    rate: float


def _attend(xp, scores, row, columns):
    """Output and log-sum-exp of one tile of queries, from one tile of keys after the other."""
    start, stop = row
    queries = scores.q[..., start:stop, :]
    # Before the first tile: the largest and the sum of no scores, and the sum of no values.
    highest = xp.sum(queries[..., :0], axis=-1, keepdims=True) - math.inf  # (..., tile_query, 1)
    total = xp.sum(queries[..., :0], axis=-1, keepdims=True)
    output = xp.matmul(queries[..., :0], scores.v[..., :0, :])  # (..., tile_query, d_value)
    for column in columns:
        if _is_hidden(scores, row, column):
            continue
        _, _, values, _, tile, keep = _tile(xp, scores, row, column)
        rivals = [highest, xp.max(tile, axis=-1, keepdims=True)]
        raised = xp.max(xp.concatenate(rivals, axis=-1), axis=-1, keepdims=True)
        exps = xp.exp(tile - _finite(xp, raised))
        # What was summed so far was relative to the old maximum.
        rescaled = xp.exp(highest - _finite(xp, raised))
        total = rescaled * total + xp.sum(exps, axis=-1, keepdims=True)
        output = rescaled * output + xp.matmul(_drop(exps, keep, scores.rate)[0], values)
        highest = raised
    empty = total == 0.0
    some = xp.where(empty, 1.0, total)
    lse = xp.where(empty, -math.inf, _finite(xp, highest) + xp.log(some))
    return output / some, xp.squeeze(lse, axis=-1)


def _retrace(xp, scores, rows, column, of_rows, dq_parts):
    """Add to dq what one tile of keys gives back, and find its dk, dv and dbias."""
    left, right = column
    dk, dv = xp.zeros_like(scores.k[..., left:right, :]), xp.zeros_like(scores.v[..., left:right, :])
    dq_sums, dbias_parts = [], []
    for row, of_row, dq_part in zip(rows, of_rows, dq_parts, strict=True):
        part = cut(scores.bias, row, column)
        if _is_hidden(scores, row, column):
            dq_sums.append(dq_part)
            dbias_parts.append(None if part is None else xp.zeros_like(part))
            continue
        dq_tile, dk_tile, dv_tile, dtile = _tile_gradients(xp, scores, row, column, of_row)
        dk, dv = dk + dk_tile, dv + dv_tile
        dq_sums.append(dq_part + dq_tile)
        dbias_parts.append(None if part is None else sum_to(dtile, part.shape))
    dbias = None if scores.bias is None else joined(dbias_parts, axis=-2, size=scores.bias.shape[-2])
    return dq_sums, dk, dv, dbias


def _tile_gradients(xp, scores, row, column, of_row):
    """Gradients of what goes into one tile; its weights are made again from the log-sum-exp."""
    doutput, lse, lift = of_row
    queries, keys, values, capped, tile, keep = _tile(xp, scores, row, column)
    weights = xp.exp(tile - lse)
    dropped, dropout_pullback = _drop(weights, keep, scores.rate)
    dv = xp.matmul(xp.swapaxes(dropped, -1, -2), doutput)
    (dweights,) = dropout_pullback(xp.matmul(doutput, xp.swapaxes(values, -1, -2)))
    dtile = weights * (dweights + lift)
    bend = capped if scores.softcap is None else capped / scores.softcap
    dproducts = dtile if scores.softcap is None else dtile * (1.0 - bend * bend)
    dq = xp.matmul(dproducts, keys) * scores.factor
    dk = xp.matmul(xp.swapaxes(dproducts, -1, -2), queries) * scores.factor
    return dq, dk, dv, dtile


def _tile(xp, scores, row, column):
    """Compute the scores of one tile, before and after bias and mask, and take what else lies in it."""
    (top, bottom), (left, right) = row, column
    mask = cut(scores.mask, row, column)
    if right - 1 > top + scores.n_before:  # the diagonal crosses this tile
        before = xp.arange(left, right)[None, :] <= xp.arange(top, bottom)[:, None] + scores.n_before
        mask = before if mask is None else mask & before
    queries = blank_unattended(scores.q[..., top:bottom, :], mask, axis=-1)
    keys = blank_unattended(scores.k[..., left:right, :], mask, axis=-2)
    values = blank_unattended(scores.v[..., left:right, :], mask, axis=-2)
    products = xp.matmul(queries, xp.swapaxes(keys, -1, -2)) * scores.factor  # (..., tile_query, tile_key)
    capped = products if scores.softcap is None else scores.softcap * xp.tanh(products / scores.softcap)
    biased = capped if scores.bias is None else capped + cut(scores.bias, row, column)
    tile = biased if mask is None else xp.where(mask, biased, -math.inf)
    return queries, keys, values, capped, tile, cut(scores.keep, row, column)


def _is_hidden(scores, row, column):
    n_key = scores.k.shape[-2]
    n_visible = row[1] + scores.n_before
    return column[0] >= (n_visible if n_visible < n_key else n_key)


def _drop(weights, keep, rate):
    return (weights, _identity) if keep is None else dropout(weights, keep=keep, rate=rate)


def _identity(dy):
    return (dy,)


def _finite(xp, x):
    # Minus infinity shifts nothing: -inf - -inf would be NaN.
    return xp.where(xp.isfinite(x), x, 0.0)


def _check(q, k, v, bias, mask, keep, softcap, tile_query, tile_key):
    scores_shape = check_heads(q, k, v, mask)
    check_floating(q=q, bias=bias)
    if bias is not None:
        check_broadcastable("bias", bias, scores_shape)
    if keep is not None:
        check_boolean(keep=keep)
        check_shape("keep", keep, scores_shape)
    check_setting("softcap", softcap, softcap is None or softcap > 0.0, "positive")
    check_setting("tile_query", tile_query, tile_query > 0, "at least 1")
    check_setting("tile_key", tile_key, tile_key > 0, "at least 1")
