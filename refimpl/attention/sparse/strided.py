"""Strided sparse attention (Child et al. 2019, arXiv:1904.10509, section 4.3)."""

from refimpl.arrays import array_namespace, check_setting, check_shape
from refimpl.attention.mask import causal_mask, check_mask
from refimpl.attention.shapes import check_heads
from refimpl.attention.sparse.band import band_mask, banded_attention
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention


def strided_mask(n_seq, *, stride, like):
    """Let every position attend to the last ones, and to every so manieth one before them.

    Parameters
    ----------
    n_seq : int
        The number of positions.
    stride : int
        How many of the last positions are seen, and the distance between those before them.
    like : array
        Any array of the library in which the mask is made.

    Returns
    -------
    array of bool, shape (n_seq, n_seq)
        True where ``i - j`` is in [0, stride) or a multiple of the stride: both of the published pattern's two sets.

    Raises
    ------
    ValueError
        If the stride is not at least 1.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", arXiv:1904.10509, section 4.3.
    """
    xp = array_namespace(like)
    check_setting("stride", stride, stride >= 1, "at least 1")
    n_row = -(-n_seq // stride)
    # The column of a position when they are written in rows as long as the stride.
    columns = xp.reshape(xp.arange(n_row)[:, None] * 0 + xp.arange(stride)[None, :], (n_row * stride,))[:n_seq]
    same_column = columns[:, None] == columns[None, :]
    near = band_mask(n_seq, n_seq, left=stride - 1, right=0, like=like)
    return near | (same_column & causal_mask(n_seq, n_seq, like=like))


def strided_attention(q, k, v, *, stride, mask=None, scale=None, softcap=None):
    """Attend to the last positions and to every so manieth one, in time that grows with n · (stride + n / stride).

    Parameters
    ----------
    q : array, shape (..., n_seq, d_head)
        Queries.
    k : array, shape (..., n_seq, d_head)
        Keys.
    v : array, shape (..., n_seq, d_value)
        Values.
    stride : int
        About the root of n_seq for the least work.
    mask : array of bool, broadcasts to (..., 1, n_seq), optional
        True for keys that may be seen.
    scale : float, optional
        Multiplies the dot products; by default ``1 / sqrt(d_head)``.
    softcap : float, optional
        Bends the scores into (-softcap, softcap), before the mask.

    Returns
    -------
    y : array, shape (..., n_seq, d_value)
        As attention under `strided_mask`: both sets of the pattern in one head.
    pullback : callable
        Maps dy to ``(dq, dk, dv)``.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    References
    ----------
    Child et al. (2019), arXiv:1904.10509, section 4.3: strided attention, "merged" heads (eq. 9).
    """
    xp = array_namespace(q, k, v, mask)
    _check(q, k, v, mask, stride)
    n_seq = q.shape[-2]
    n_row = -(-n_seq // stride)
    near, near_pullback = banded_attention(q, k, v, left=stride - 1, right=0, mask=mask, scale=scale, softcap=softcap)
    columns = [_columns(xp, x, n_row, stride) for x in (q, k, v)]  # (..., stride, n_row, d)
    above = xp.arange(n_row)[None, :] < xp.arange(n_row)[:, None]
    # The mask may stand for all keys with one column.
    wide = None if mask is None else mask[..., 0, :] & (xp.arange(n_seq) >= 0)
    wanted = None if mask is None else xp.swapaxes(_columns(xp, wide[..., None], n_row, stride), -1, -2)
    seen = above if mask is None else above & wanted
    far, far_pullback = tiled_attention(*columns, mask=seen, scale=scale, softcap=softcap)
    far_output = _rows(xp, far[0], n_seq)
    far_lse = xp.squeeze(_rows(xp, far[1][..., None], n_seq), axis=-1)
    outputs, lses = xp.stack([near[0], far_output], axis=0), xp.stack([near[1], far_lse], axis=0)
    (y, lse), merge_pullback = merge_attention(outputs, lses)

    def pullback(dy):
        doutputs, dlses = merge_pullback((dy, xp.zeros_like(lse)))
        near_gradients = near_pullback((doutputs[0], dlses[0]))
        dlse_columns = xp.squeeze(_columns(xp, dlses[1][..., None], n_row, stride), axis=-1)
        dcolumns = far_pullback((_columns(xp, doutputs[1], n_row, stride), dlse_columns))
        dq, dk, dv = (near + _rows(xp, far, n_seq) for near, far in zip(near_gradients, dcolumns, strict=True))
        return dq, dk, dv

    return y, pullback


def _columns(xp, x, n_row, stride):
    """Write positions in rows as long as the stride, and take the columns."""
    filled = xp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, n_row * stride - x.shape[-2]), (0, 0)], mode="constant")
    return xp.swapaxes(xp.reshape(filled, (*x.shape[:-2], n_row, stride, x.shape[-1])), -2, -3)


def _rows(xp, x, n_seq):
    """Undo `_columns`."""
    *lead, stride, n_row, d = x.shape
    return xp.reshape(xp.swapaxes(x, -2, -3), (*lead, n_row * stride, d))[..., :n_seq, :]


def _check(q, k, v, mask, stride):
    check_heads(q, k, v)
    check_shape("k", k, q.shape)
    check_mask(mask, (*q.shape[:-2], 1, k.shape[-2]))
    check_setting("stride", stride, stride >= 1, "at least 1")
