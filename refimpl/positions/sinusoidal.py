"""Sinusoidal positions: every pair of features a clock hand of its own speed (Vaswani et al. 2017, section 3.5)."""

import math

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

LAYOUTS = ("interleaved", "concatenated")


def sinusoidal_positions(x, *, positions=None, offset=0, base=10000.0, layout="interleaved"):
    """Add sines and cosines of the position to every vector.

    Parameters
    ----------
    x : array, shape (..., n_seq, d_model)
        Feature vectors.
    positions : array of int, broadcasts to (..., n_seq), optional
        The position of every vector; by default ``offset, offset + 1, ...``.
    offset : int, optional
        The position of the first vector, where there are no `positions`.
    base : float, optional
        The ratio of the slowest wavelength to the fastest.
    layout : {"interleaved", "concatenated"}, optional
        Sine and cosine in turn, as published, or all sines before all cosines.

    Returns
    -------
    y : array, shape (..., n_seq, d_model)
        ``x + table``; sine i is ``sin(position / base ** (2 i / d_model))``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    ValueError
        If shapes or settings do not fit.
    TypeError
        If `x` is not floating, the positions are not integers, or the libraries differ.

    Notes
    -----
    The two layouts are permutations of each other.  With an odd d_model there is one sine more than there are cosines,
    as in Marian; tensor2tensor and fairseq, which concatenate, put a 0 there and space the frequencies otherwise.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.5.
    """
    xp = array_namespace(x, positions)
    check_floating(x=x)
    check_rank("x", x, 2)
    check_setting("base", base, base > 1.0, "greater than 1")
    check_choice("layout", layout, LAYOUTS)
    ids = position_ids(x, positions, offset)
    d_model, dtype = x.shape[-1], table_dtype(x)

    # i counts pairs, so the exponent is 2 i / d_model; where it counts features, the 2 is in it already.
    frequencies = [math.pow(base, -2.0 * i / d_model) for i in range((d_model + 1) // 2)]
    angles = ids.astype(dtype)[..., None] * xp.asarray(frequencies, dtype=dtype)  # (..., n_seq, n_pair)
    sines, cosines = xp.sin(angles), xp.cos(angles)
    if layout == "interleaved":
        table = xp.reshape(xp.stack([sines, cosines], axis=-1), (*ids.shape, 2 * len(frequencies)))[..., :d_model]
    else:
        table = xp.concatenate([sines, cosines[..., : d_model // 2]], axis=-1)
    y = x + cast(table, x.dtype)
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        # Adding 0 gives dx an array of its own.
        return (dy + 0.0,)

    return y, pullback
