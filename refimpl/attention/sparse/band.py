"""Attention within a band of the scores, computed in blocks, so that time and memory grow with n·w and not with n²."""

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_gradients,
    check_rank,
    check_setting,
)
from refimpl.attention.mask import check_mask
from refimpl.attention.shapes import check_heads
from refimpl.attention.tiled.attention import tiled_attention


def band_mask(n_query, n_key, *, left, right, like):
    """Let every query attend to the keys near its own position.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys; the last of each have the same position.
    left, right : int
        How many keys before and after its own position a query sees.
    like : array
        Any array of the library in which the mask is made.

    Returns
    -------
    array of bool, shape (n_query, n_key)
        What `banded_attention` attends to, as a mask for other forms of attention.
    """
    xp = array_namespace(like)
    distance = xp.arange(n_key)[None, :] - (xp.arange(n_query)[:, None] + (n_key - n_query))
    return (distance >= -left) & (distance <= right)


def banded(x, *, first, size, n_block, n_shift):
    """Lay out the rows that each block sees; those of neighbouring blocks overlap.

    Parameters
    ----------
    x : array, shape (..., n, d)
        Rows.
    first : int
        The first row that block 0 sees; rows before 0 and after n are 0 (or False).
    size : int
        How many rows further on the next block begins.
    n_block : int
        The number of blocks.
    n_shift : int
        How many times `size` rows a block sees.

    Returns
    -------
    y : array, shape (..., n_block, n_shift * size, d)
        Row j of block b is row ``first + b * size + j``.
    pullback : callable
        Maps dy to ``(dx,)``: what lies in several blocks adds up.

    Raises
    ------
    ValueError
        If there are fewer than two axes.
    TypeError
        If `x` is not floating.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    check_rank("x", x, 2)
    n_before, _, start, stop = _place(x.shape[-2], first, size, n_block, n_shift)
    y = _laid_out(xp, x, first=first, size=size, n_block=n_block, n_shift=n_shift)
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        drows = 0.0
        for shift in range(n_shift):
            part = dy[..., shift * size : (shift + 1) * size, :]
            flat = xp.reshape(part, (*x.shape[:-2], n_block * size, x.shape[-1]))
            drows = drows + _pad_rows(xp, flat, shift * size, (n_shift - 1 - shift) * size)
        dx = _pad_rows(xp, drows[..., n_before : n_before + stop - start, :], start, x.shape[-2] - stop)
        return (dx,)

    return y, pullback


def banded_attention(q, k, v, *, left, right, mask=None, scale=None, softcap=None):
    """Attend to the keys near every query's own position.

    Parameters
    ----------
    q : array, shape (..., n_query, d_head)
        Queries.
    k : array, shape (..., n_key, d_head)
        Keys; the last one has the position of the last query.
    v : array, shape (..., n_key, d_value)
        Values.
    left, right : int
        How many keys before and after its own position a query sees.
    mask : array of bool, broadcasts to (..., 1, n_key), optional
        True for keys that may be seen, such as `refimpl.attention.mask.padding_mask`.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before the mask.

    Returns
    -------
    y : tuple of array, shapes (..., n_query, d_value) and (..., n_query)
        Output and log-sum-exp, as `refimpl.attention.tiled.attention.tiled_attention`.
    pullback : callable
        Maps (doutput, dlse) to ``(dq, dk, dv)``.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.
    """
    xp = array_namespace(q, k, v, mask)
    _check(q, k, v, left, right, mask)
    lead, n_query, n_key = q.shape[:-2], q.shape[-2], k.shape[-2]
    before, after = min(left, n_key), min(right, n_query)
    block, layout = _layout(n_query, n_key, before, after)
    n_block, n_filler = layout["n_block"], layout["n_block"] * block - n_query

    blocks = _in_blocks(xp, q, n_block, n_filler)  # (..., n_block, block, d_head)
    keys, keys_pullback = banded(k, **layout)  # (..., n_block, n_shift * size, d_head)
    values, values_pullback = banded(v, **layout)
    seen = _band(xp, block, n_key, before, after, layout)
    # The mask may stand for all keys with one column.
    columns = None if mask is None else mask[..., 0, :] & (xp.arange(n_key) >= 0)
    wanted = None if mask is None else xp.swapaxes(_laid_out(xp, columns[..., None], **layout), -1, -2)
    allowed = seen if mask is None else seen & wanted
    inside, inside_pullback = tiled_attention(blocks, keys, values, mask=allowed, scale=scale, softcap=softcap)
    output = xp.reshape(inside[0], (*lead, n_block * block, v.shape[-1]))[..., :n_query, :]
    lse = xp.reshape(inside[1], (*lead, n_block * block))[..., :n_query]
    y = (output, lse)

    def pullback(dy):
        check_gradients(dy, (output, lse))
        doutput, dlse = dy
        dlse_blocks = xp.squeeze(_in_blocks(xp, dlse[..., None], n_block, n_filler), axis=-1)
        dblocks, dkeys, dvalues = inside_pullback((_in_blocks(xp, doutput, n_block, n_filler), dlse_blocks))
        (dv,) = values_pullback(dvalues)
        (dk,) = keys_pullback(dkeys)
        dq = xp.reshape(dblocks, (*lead, n_block * block, q.shape[-1]))[..., :n_query, :]
        return dq, dk, dv

    return y, pullback


def _laid_out(xp, x, *, first, size, n_block, n_shift):
    n_before, n_after, start, stop = _place(x.shape[-2], first, size, n_block, n_shift)
    rows = _pad_rows(xp, x[..., start:stop, :], n_before, n_after)
    # A shift by whole blocks is a slice: one for each shift, instead of one for each block.
    shifted = [rows[..., shift * size : (shift + n_block) * size, :] for shift in range(n_shift)]
    blocks = (*x.shape[:-2], n_block, size, x.shape[-1])
    return xp.concatenate([xp.reshape(part, blocks) for part in shifted], axis=-2)


def _place(n, first, size, n_block, n_shift):
    """Count the rows of 0 before and after those that exist, and say which of these are needed."""
    end = first + (n_block + n_shift - 1) * size
    start, stop = max(first, 0), min(end, n)
    return start - first, end - stop, start, stop


def _layout(n_query, n_key, left, right):
    """Choose how many queries a block has, and what rows of keys it sees."""
    block, first = max(left, right, 1), n_key - n_query - left
    if n_query <= block:  # one block, which sees all it needs at once
        return n_query, {"first": first, "size": n_query + left + right, "n_block": 1, "n_shift": 1}
    n_shift = 1 + -(-(left + right) // block)
    return block, {"first": first, "size": block, "n_block": -(-n_query // block), "n_shift": n_shift}


def _band(xp, block, n_key, left, right, layout):
    """Say which of the rows that a block is given a query attends to: (n_block, block, n_shift * size)."""
    ahead = xp.arange(layout["n_shift"] * layout["size"])[None, :] - xp.arange(block)[:, None]
    key = layout["first"] + layout["size"] * xp.arange(layout["n_block"])[:, None]
    keys = (key + xp.arange(layout["n_shift"] * layout["size"])[None, :])[:, None, :]
    return (ahead >= 0) & (ahead <= left + right) & (keys >= 0) & (keys < n_key)


def _in_blocks(xp, x, n_block, n_filler):
    n_row = x.shape[-2] + n_filler
    return xp.reshape(_pad_rows(xp, x, 0, n_filler), (*x.shape[:-2], n_block, n_row // n_block, x.shape[-1]))


def _pad_rows(xp, x, n_before, n_after):
    return xp.pad(x, [(0, 0)] * (x.ndim - 2) + [(n_before, n_after), (0, 0)], mode="constant")


def _check(q, k, v, left, right, mask):
    check_heads(q, k, v)
    check_mask(mask, (*q.shape[:-2], 1, k.shape[-2]))
    check_setting("left", left, left >= 0, "at least 0")
    check_setting("right", right, right >= 0, "at least 0")
