"""Indexing of shape-only arrays: views cost nothing, integer arrays gather."""

import math

import numpy as np

from compare.interpretations.cost import Shaped, made
from compare.interpretations.cost_tracker import record


def getitem(x, index):
    """Index a shape-only array.

    Parameters
    ----------
    x : Shaped, shape (...)
        The array.
    index : object
        Python integers, slices, None, Ellipsis and shape-only arrays of integers, or a tuple of them.

    Returns
    -------
    Shaped
        A view for basic indices; else a new array, for which as many bytes are read as it has.

    Raises
    ------
    TypeError
        For boolean arrays, because the shape would depend on values, and for host arrays.
    """
    items = index if isinstance(index, tuple) else (index,)
    for item in items:
        _check(item)
    if not any(isinstance(item, Shaped) for item in items):
        record("getitem")
        return Shaped(x.layout[index], x.buffer)
    # The basic part is a view in which every axis that an array picks from is still whole.
    view = x.layout[tuple(slice(None) if _picks(item) else item for item in items)]
    ids = [item for item in items if isinstance(item, Shaped)]
    shape = _gathered_shape(view.shape, items)
    return made("getitem", shape, x.dtype, *ids, bytes_gathered=math.prod(shape) * x.dtype.itemsize)


def _gathered_shape(shape, items):
    picked = np.broadcast_shapes(*(getattr(item, "shape", ()) for item in items if _picks(item)))
    places = [i for i, item in enumerate(items) if _picks(item)]
    n_explicit = sum(item is not Ellipsis for item in items)
    kept, axis, start = [], 0, None
    for item in items:
        if item is Ellipsis:
            n_skipped = len(shape) - n_explicit
            kept += shape[axis : axis + n_skipped]
            axis += n_skipped
            continue
        if _picks(item):
            start = len(kept) if start is None else start
        else:
            kept.append(shape[axis])
        axis += 1
    kept += shape[axis:]
    # NumPy puts the picked axes in front when something stands between the arrays.
    if places[-1] - places[0] + 1 != len(places):
        start = 0
    return (*kept[:start], *picked, *kept[start:])


def _picks(item):
    # Beside an array an integer picks as a 0-d array would.
    return isinstance(item, Shaped) or hasattr(item, "__index__")


def _check(item):
    if isinstance(item, Shaped):
        if item.dtype.kind == "b":
            raise TypeError("the shape of x[mask] depends on values, which a shape-only array has not")
        if item.dtype.kind not in "iu":
            raise TypeError(f"arrays used as indices must be of integer type, got {item.dtype}")
    elif isinstance(item, np.ndarray | list):
        raise TypeError(f"expected a shape-only array in the index, got {type(item).__name__}")
