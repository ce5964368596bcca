"""Indices on a strict device: integer arrays wrap around, and everything must live on the device."""

import operator

import numpy as np

from compare.interpretations.strict_device import DeviceArray, on_current_device


def wrapped_index(index, shape):
    """Turn an index into one that makes NumPy do what CuPy would.

    Parameters
    ----------
    index : object
        Python integers, slices, None, Ellipsis and device arrays of integers or booleans, or a tuple of them.
    shape : tuple of int
        The shape of the indexed array.

    Returns
    -------
    tuple
        The same with NumPy arrays, whose integers are taken modulo the length of their axis.

    Raises
    ------
    TypeError
        For host arrays and lists (CuPy copies them to the device at every call), and anything else.
    IndexError
        For more than one boolean array, or a Python integer out of range.
    """
    items = index if isinstance(index, tuple) else (index,)
    items = [_bare(item) for item in items]
    if sum(_n_axis(item) > 0 and _is_mask(item) for item in items) > 1:
        raise IndexError("expected at most one boolean array in an index")
    axis = 0
    wrapped = []
    for i, item in enumerate(items):
        if item is Ellipsis:
            axis = len(shape) - sum(_n_axis(later) for later in items[i + 1 :])
        wraps = isinstance(item, np.ndarray) and not _is_mask(item) and axis < len(shape) and shape[axis] > 0
        wrapped.append(item % shape[axis] if wraps else item)
        axis += _n_axis(item)
    return tuple(wrapped)


def _bare(item):
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, DeviceArray):
        content = on_current_device(item)
        if content.dtype.kind not in "iub":
            raise IndexError(f"arrays used as indices must be integer or boolean, got {content.dtype}")
        return content
    if isinstance(item, bool) or not hasattr(item, "__index__") or isinstance(item, np.ndarray):
        raise TypeError(f"Unsupported type {type(item)} in an index: expected an array of the device")
    return operator.index(item)


def _is_mask(item):
    return isinstance(item, np.ndarray) and item.dtype.kind == "b"


def _n_axis(item):
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1
