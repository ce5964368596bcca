"""Learned positions made longer: by their mean, by interpolation, by tiling.

Each is a linear map of the table (a parameter ``weight`` of `refimpl.positions.learned.learned_positions`), so its
pullback trains the short table through the long one.
"""

import math

from refimpl.arrays import (
    array_namespace,
    cast,
    check_floating,
    check_gradient,
    check_setting,
    check_shape,
    scatter_add,
    table_dtype,
)


def extend_by_mean(weight, *, n_position):
    """Give every new position the mean of the learned ones.

    Parameters
    ----------
    weight : array, shape (n_learned, d_model)
        The learned positions.
    n_position : int
        How many there shall be.

    Returns
    -------
    y : array, shape (n_position, d_model)
        The learned positions, then their mean over and over.
    pullback : callable
        Maps dy to ``(dweight,)``.

    Raises
    ------
    ValueError
        If there would be fewer positions than before, or there are none.
    TypeError
        If `weight` is not floating.
    """
    xp = array_namespace(weight)
    n_learned, _ = _check(weight, n_position)

    mean = xp.mean(weight, axis=0, keepdims=True)
    rows = xp.asarray([min(i, n_learned) for i in range(n_position)], dtype=xp.int64)
    y = xp.concatenate([weight, mean], axis=0)[rows]
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        dmean = xp.sum(dy[n_learned:], axis=0, keepdims=True)
        return (dy[:n_learned] + dmean / n_learned,)

    return y, pullback


def extend_by_tiling(weight, *, n_position):
    """Repeat the learned positions from the start, as Longformer was made from RoBERTa.

    Parameters
    ----------
    weight : array, shape (n_learned, d_model)
        The learned positions.
    n_position : int
        How many there shall be.

    Returns
    -------
    y : array, shape (n_position, d_model)
        Row i is learned position ``i mod n_learned``.
    pullback : callable
        Maps dy to ``(dweight,)``.

    Raises
    ------
    ValueError
        If there would be fewer positions than before, or there are none.
    TypeError
        If `weight` is not floating.

    References
    ----------
    Beltagy, Peters, Cohan (2020), "Longformer", arXiv:2004.05150, section 5.
    """
    xp = array_namespace(weight)
    n_learned, _ = _check(weight, n_position)

    rows = xp.asarray([i % n_learned for i in range(n_position)], dtype=xp.int64)
    y = weight[rows]
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        return (scatter_add(rows, dy, n_learned),)

    return y, pullback


def extend_by_interpolation(weight, *, n_position, align="ends"):
    """Stretch the learned positions evenly and fill the gaps linearly.

    Parameters
    ----------
    weight : array, shape (n_learned, d_model)
        The learned positions.
    n_position : int
        How many there shall be.
    align : {"ends", "cells"}, optional
        The first and last positions stay first and last, or positions are the centres of cells that are stretched.

    Returns
    -------
    y : array, shape (n_position, d_model)
        Means of two neighbours each, weighted by nearness.
    pullback : callable
        Maps dy to ``(dweight,)``.

    Raises
    ------
    ValueError
        If there would be fewer positions than before, there are none, or `align` is neither.
    TypeError
        If `weight` is not floating.

    Notes
    -----
    This is ``torch.nn.functional.interpolate(mode="linear")`` with ``align_corners=True`` for "ends" and False, its
    default, for "cells".
    """
    xp = array_namespace(weight)
    n_learned, _ = _check(weight, n_position)
    check_setting("align", align, align in ("ends", "cells"), "ends or cells")

    places = _places(n_learned, n_position, align)
    below = xp.asarray([math.floor(place) for place in places], dtype=xp.int64)
    above = xp.asarray([math.ceil(place) for place in places], dtype=xp.int64)
    dtype = table_dtype(weight)
    beyond = xp.asarray(places, dtype=dtype) - below.astype(dtype)
    share = cast(beyond, weight.dtype)[:, None]  # (n_position, 1)
    y = weight[below] * (1.0 - share) + weight[above] * share
    kind = (y.shape, y.dtype)

    def pullback(dy):
        check_gradient(dy, *kind)
        dbelow = scatter_add(below, dy * (1.0 - share), n_learned)
        return (dbelow + scatter_add(above, dy * share, n_learned),)

    return y, pullback


def _places(n_learned, n_position, align):
    """Say where among the learned positions each new one lies."""
    if align == "ends":
        step = (n_learned - 1) / max(n_position - 1, 1)
        return [i * step if i < n_position - 1 else n_learned - 1.0 for i in range(n_position)]
    centres = [(i + 0.5) * n_learned / n_position - 0.5 for i in range(n_position)]
    return [min(max(centre, 0.0), n_learned - 1.0) for centre in centres]


def _check(weight, n_position):
    check_floating(weight=weight)
    check_shape("weight", weight, (None, None))
    n_learned = weight.shape[0]
    check_setting("n_learned", n_learned, n_learned >= 1, "at least 1")
    check_setting("n_position", n_position, n_position >= n_learned, f"at least {n_learned}, the learned ones")
    return weight.shape
