"""Arrays: shapes, numbers, ids, masks, and the layouts that they may have in memory."""

import numpy as np
from hypothesis import strategies as st

LAYOUTS = ("contiguous", "strided", "reversed", "fortran")


def generators():
    """Draw seeded generators.

    Returns
    -------
    SearchStrategy of numpy.random.Generator
        Numbers come from them rather than from Hypothesis, which prefers zeros and repetitions: those hide
        wrong gradients.
    """
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def shapes(*, min_rank=2, max_rank=4, min_side=1, max_side=6):
    """Draw shapes with pairwise different sizes, so that no axis can stand in for another.

    Parameters
    ----------
    min_rank, max_rank : int, optional
        The number of axes.
    min_side, max_side : int, optional
        The sizes of the axes; 0 makes empty arrays.

    Returns
    -------
    SearchStrategy of tuple of int
        The shapes.
    """
    return sizes(min_rank, max_rank, min_side=min_side, max_side=max_side).map(tuple)


def sizes(n, at_most=None, *, min_side=1, max_side=6):
    """Draw pairwise different sizes.

    Parameters
    ----------
    n : int
        How many.
    at_most : int, optional
        If there may be more of them, how many at most.
    min_side, max_side : int, optional
        The smallest and the largest size.

    Returns
    -------
    SearchStrategy of list of int
        The sizes.
    """
    return st.lists(st.integers(min_side, max_side), min_size=n, max_size=at_most or n, unique=True)


@st.composite
def floating(draw, shape, *, scale=1.0):
    """Draw normal numbers.

    Parameters
    ----------
    draw : callable
        Given by Hypothesis.
    shape : tuple of int
        The shape.
    scale : float, optional
        Their standard deviation.

    Returns
    -------
    numpy.ndarray of float64, shape `shape`
        The numbers.
    """
    return np.asarray(scale * draw(generators()).standard_normal(shape))


@st.composite
def ids(draw, shape, n):
    """Draw integer ids, many of them repeated.

    Parameters
    ----------
    draw : callable
        Given by Hypothesis.
    shape : tuple of int
        The shape.
    n : int
        They lie in [0, n).

    Returns
    -------
    numpy.ndarray of int64, shape `shape`
        The ids.
    """
    return np.asarray(draw(generators()).integers(0, n, size=shape))


@st.composite
def masks(draw, shape, *, may_broadcast=True):
    """Draw boolean masks; any row, and any column, may be masked as a whole.

    Parameters
    ----------
    draw : callable
        Given by Hypothesis.
    shape : tuple of int
        The shape, at least two axes.
    may_broadcast : bool, optional
        Whether an axis may have size 1 instead.

    Returns
    -------
    numpy.ndarray of bool, shape `shape` or one that broadcasts to it
        The mask.
    """
    generator = draw(generators())
    kept = [1 if may_broadcast and draw(st.booleans()) else size for size in shape]
    mask = generator.random(kept) < draw(st.sampled_from([0.4, 0.8, 1.0]))
    row = generator.random((*kept[:-1], 1)) < draw(st.sampled_from([0.6, 1.0]))
    column = generator.random((*kept[:-2], 1, kept[-1])) < draw(st.sampled_from([0.7, 1.0]))
    return mask & row & column


def laid_out(x, layout):
    """Copy an array into memory of another layout, and protect it from being written.

    Parameters
    ----------
    x : numpy.ndarray, shape (...)
        Any array.
    layout : {"contiguous", "strided", "reversed", "fortran"}
        Every second element of every axis of a larger array; backwards along every axis; first axis fastest.

    Returns
    -------
    numpy.ndarray, shape (...)
        An equal, read-only array.
    """
    if layout == "strided":
        wide = np.zeros([2 * size for size in x.shape], x.dtype).view(type(x))
        place = wide[(slice(None, None, 2),) * x.ndim]
    elif layout == "reversed":
        place = np.zeros(x.shape, x.dtype).view(type(x))[(slice(None, None, -1),) * x.ndim]
    else:
        place = np.zeros(x.shape, x.dtype, order="F" if layout == "fortran" else "C").view(type(x))
    if x.ndim:
        place[...] = x
    else:
        place = x.copy()
    place.flags.writeable = False
    return place
