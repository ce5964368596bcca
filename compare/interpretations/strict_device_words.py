"""The vocabulary on strict device arrays: only these words, called only in the ways that CuPy accepts.

A parameter before ``/`` is one whose name CuPy spells otherwise, or has none for.
"""

import numpy as np
from numpy import bool_, float32, float64, int64  # noqa: F401  (words of the vocabulary)

from compare.interpretations.strict_device import DeviceArray, on_current_device, operand, result
from compare.interpretations.strict_device import asarray as _asarray  # which takes arrays, too
from refimpl.arrays import special

# --- elementwise ------------------------------------------------------------------------------------------


def exp(x, /):
    return result(np.exp(on_current_device(x)))


def log(x, /):
    return result(np.log(on_current_device(x)))


def sqrt(x, /):
    return result(np.sqrt(on_current_device(x)))


def tanh(x, /):
    return result(np.tanh(on_current_device(x)))


def sin(x, /):
    return result(np.sin(on_current_device(x)))


def cos(x, /):
    return result(np.cos(on_current_device(x)))


def erf(x, /):
    return result(special.erf(on_current_device(x)))


def floor(x, /):
    return result(np.floor(on_current_device(x)))


def isfinite(x, /):
    return result(np.isfinite(on_current_device(x)))


def where(mask, a, b, /):
    return result(np.where(on_current_device(mask), operand(a), operand(b)))


# --- reductions: 0-d arrays where NumPy gives scalars ----------------------------------------------------


def sum(x, /, axis=None, *, keepdims=False):
    return result(np.sum(on_current_device(x), axis=axis, keepdims=keepdims))


def mean(x, /, axis=None, *, keepdims=False):
    return result(np.mean(on_current_device(x), axis=axis, keepdims=keepdims))


def max(x, /, axis=None, *, keepdims=False):
    return result(np.max(on_current_device(x), axis=axis, keepdims=keepdims))


def min(x, /, axis=None, *, keepdims=False):
    return result(np.min(on_current_device(x), axis=axis, keepdims=keepdims))


def any(x, /, axis=None, *, keepdims=False):
    return result(np.any(on_current_device(x), axis=axis, keepdims=keepdims))


def all(x, /, axis=None, *, keepdims=False):
    return result(np.all(on_current_device(x), axis=axis, keepdims=keepdims))


def argmax(x, /, axis=None):
    return result(np.argmax(on_current_device(x), axis=axis))


def cumsum(x, /, axis=None):
    return result(np.cumsum(on_current_device(x), axis=axis))


def argsort(x, /, axis=-1):
    return result(np.argsort(on_current_device(x), axis=axis))


# --- products ---------------------------------------------------------------------------------------------


def matmul(a, b, /):
    a, b = on_current_device(a), on_current_device(b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"expected two arrays of at least 2 axes, got shapes {a.shape} and {b.shape}")
    return result(np.matmul(a, b))


def einsum(spec, /, *operands):
    return result(np.einsum(spec, *[on_current_device(x) for x in operands]))


def scatter_add(ids, values, n, /):
    ids = on_current_device(ids) % n  # cupy.add.at wraps as well
    return result(special.scatter_add(ids, on_current_device(values), n))


# --- shape ------------------------------------------------------------------------------------------------


def reshape(x, shape, /):
    return result(np.reshape(on_current_device(x), shape))


def swapaxes(x, axis1, axis2, /):
    return result(np.swapaxes(on_current_device(x), axis1, axis2))


def moveaxis(x, source, destination, /):
    return result(np.moveaxis(on_current_device(x), source, destination))


def expand_dims(x, /, axis):
    return result(np.expand_dims(on_current_device(x), axis))


def squeeze(x, /, axis):
    return result(np.squeeze(on_current_device(x), axis))


def concatenate(arrays, /, axis=0):
    return result(np.concatenate(_contents(arrays), axis=axis))


def stack(arrays, /, axis=0):
    return result(np.stack(_contents(arrays), axis=axis))


def split(x, boundaries, /, axis=0):
    if isinstance(boundaries, np.ndarray | DeviceArray):
        raise TypeError(f"expected an int or a list of ints, got {type(boundaries).__name__}")
    return [result(part) for part in np.split(on_current_device(x), boundaries, axis=axis)]


def pad(x, widths, /, mode, *, constant_values=0):
    if mode != "constant":
        raise ValueError(f'mode must be "constant", got {mode!r}')
    return result(np.pad(on_current_device(x), widths, mode=mode, constant_values=constant_values))


def tril(x, /, k=0):
    return result(np.tril(on_current_device(x), k))


def triu(x, /, k=0):
    return result(np.triu(on_current_device(x), k))


def _contents(arrays):
    if not isinstance(arrays, tuple | list):
        raise TypeError(f"expected a list or tuple of arrays, got {type(arrays).__name__}")
    return [on_current_device(x) for x in arrays]


# --- creation: on the current device ----------------------------------------------------------------------


def zeros(shape, dtype=float64):
    return _asarray(np.zeros(shape), dtype=dtype)


def ones(shape, dtype=float64):
    return _asarray(np.ones(shape), dtype=dtype)


def full(shape, fill_value, dtype=None):
    return _asarray(np.full(shape, fill_value), dtype=dtype)


def arange(*bounds):
    return _asarray(np.arange(*bounds))


def asarray(numbers, *, dtype):
    if not isinstance(numbers, tuple | list):
        raise TypeError(f"expected a list of Python numbers, got {type(numbers).__name__}")
    return _asarray(numbers, dtype=dtype)


def zeros_like(x, /):
    return result(np.zeros_like(on_current_device(x)))


def ones_like(x, /):
    return result(np.ones_like(on_current_device(x)))
