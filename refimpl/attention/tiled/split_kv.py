"""Attention with the keys and values split into chunks, as decoding over a long cache does it."""

from refimpl.arrays import array_namespace, check_setting
from refimpl.attention.shapes import check_heads
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention
from refimpl.attention.tiled.tiles import cut, tiles


def split_kv_attention(q, k, v, *, mask=None, scale=None, softcap=None, chunk):
    """Attend to every chunk of keys by itself, as on different processors, and merge the results.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries; few of them, or else splitting the queries does as well.
    k : array, shape (..., n_key, d_head)
        Keys.
    v : array, shape (..., n_key, d_value)
        Values.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a key.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before the mask.
    chunk : int
        How many keys a chunk has; the last may have fewer.

    Returns
    -------
    y : tuple of array, shapes (..., n_query, d_value) and (..., n_query)
        As `refimpl.attention.tiled.attention.tiled_attention`: output and log-sum-exp.
    pullback : callable
        Maps (doutput, dlse) to ``(dq, dk, dv)``.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    References
    ----------
    Dao, Haziza, Massa, Sizov (2023), "Flash-Decoding for long-context inference".
    """
    xp = array_namespace(q, k, v, mask)
    check_heads(q, k, v, mask)
    check_setting("chunk", chunk, chunk > 0, "at least 1")
    n_query, chunks = q.shape[-2], tiles(k.shape[-2], chunk)
    masks = [cut(mask, (0, n_query), columns) for columns in chunks]
    parts = [
        tiled_attention(q, k[..., i:j, :], v[..., i:j, :], mask=part, scale=scale, softcap=softcap)
        for (i, j), part in zip(chunks, masks, strict=True)
    ]
    outputs = xp.stack([output for (output, _), _ in parts], axis=0)  # (n_chunk, ..., n_query, d_value)
    lses = xp.stack([lse for (_, lse), _ in parts], axis=0)
    y, merge_pullback = merge_attention(outputs, lses)

    def pullback(dy):
        doutputs, dlses = merge_pullback(dy)
        gradients = [part_pullback((doutputs[i], dlses[i])) for i, (_, part_pullback) in enumerate(parts)]
        dq = xp.sum(xp.stack([dq_part for dq_part, _, _ in gradients], axis=0), axis=0)
        dk = xp.concatenate([dk_part for _, dk_part, _ in gradients], axis=-2)
        dv = xp.concatenate([dv_part for _, _, dv_part in gradients], axis=-2)
        return dq, dk, dv

    return y, pullback
