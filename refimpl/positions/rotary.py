"""Rotary positions: turn pairs of features by an angle that grows with the position (Su et al. 2021)."""

from refimpl.arrays import (
    array_namespace,
    cast,
    check_choice,
    check_floating,
    check_gradient,
    check_rank,
    check_setting,
    table_dtype,
)
from refimpl.positions.position_ids import position_ids
from refimpl.positions.rotary_scaling import Unscaled

LAYOUTS = ("half", "interleaved")


def rotary(x, *, positions=None, offset=0, d_rotary=None, base=10000.0, scaling=None, layout="half"):
    """Turn every query or key by its position, so that their product depends on the distance alone.

    Parameters
    ----------
    x : array, shape (..., n_seq, d_head)
        Queries or keys.
    positions : array of int, broadcasts to (..., n_seq), optional
        The position of every vector, for rows that differ, such as those padded on the left; by default
        ``offset, offset + 1, ...``.
    offset : int, optional
        The position of the first vector, where there are no `positions`: while decoding, the length of the past.
    d_rotary : int, optional
        How many features are turned; those behind them stay.  By default all.
    base : float, optional
        The ratio of the slowest wavelength to the fastest.
    scaling : object, optional
        A rule of `refimpl.positions.rotary_scaling`; by default none.
    layout : {"half", "interleaved"}, optional
        Which features are a pair: i and i + d_rotary / 2, or 2 i and 2 i + 1.

    Returns
    -------
    y : array, shape (..., n_seq, d_head)
        Every pair (a, b) turned to (a cos - b sin, b cos + a sin).
    pullback : callable
        Maps dy to ``(dx,)``: the same turns backwards.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If `x` is not floating, the positions are not integers, or the libraries differ.

    Notes
    -----
    Angles are computed in float32 or better, whatever the dtype of `x`: bfloat16 cannot tell position 257 from 256.
    Llama and GPT-NeoX are laid out in halves, RoFormer, GPT-J and the original Llama interleaved; to change over,
    permute the projections (`refimpl.positions.rotary_layout`).

    References
    ----------
    Su et al. (2021), "RoFormer", arXiv:2104.09864, eq. 34.
    """
    xp = array_namespace(x, positions)
    check_floating(x=x)
    check_rank("x", x, 2)
    n_rotary = x.shape[-1] if d_rotary is None else d_rotary
    _check(n_rotary, x.shape[-1], base, layout)
    ids = position_ids(x, positions, offset)

    n_position = offset + x.shape[-2] if positions is None else _one_beyond(positions)
    frequencies, factor = (scaling or Unscaled())(n_rotary, base, n_position)
    dtype = table_dtype(x)
    angles = ids.astype(dtype)[..., None] * xp.asarray(frequencies, dtype=dtype)  # (..., n_seq, d_rotary / 2)
    cos, sin = cast(xp.cos(angles) * factor, x.dtype), cast(xp.sin(angles) * factor, x.dtype)
    y = _turn(x, cos, sin, n_rotary, layout)
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        dx = _turn(dy, cos, -sin, n_rotary, layout)
        return (dx,)

    return y, pullback


def _turn(x, cos, sin, d_rotary, layout):
    xp = array_namespace(x, cos, sin)
    half = d_rotary // 2
    if layout == "half":
        a, b = x[..., :half], x[..., half:d_rotary]
    else:
        a, b = x[..., 0:d_rotary:2], x[..., 1:d_rotary:2]
    turned = [a * cos - b * sin, b * cos + a * sin]
    if layout == "interleaved":
        turned = [xp.reshape(xp.stack(turned, axis=-1), (*x.shape[:-1], d_rotary))]
    return xp.concatenate([*turned, x[..., d_rotary:]], axis=-1)


def _one_beyond(positions):
    xp = array_namespace(positions)
    empty = 0 in positions.shape
    return 0 if empty else int(xp.max(positions, axis=tuple(range(positions.ndim)))) + 1


def _check(d_rotary, d_head, base, layout):
    fits = 2 <= d_rotary <= d_head and d_rotary % 2 == 0
    check_setting("d_rotary", d_rotary, fits, f"even, at least 2 and at most {d_head}, the size of a head")
    check_setting("base", base, base > 1.0, "greater than 1")
    check_choice("layout", layout, LAYOUTS)
