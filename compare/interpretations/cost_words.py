"""The vocabulary on shape-only arrays: for every word the shape, the dtype and the cost of its result."""

import math

import numpy as np
from numpy import bool_, float32, float64, int64  # noqa: F401  (words of the vocabulary)

from compare.interpretations.cost import Shaped, checked, dtype_of, elementwise, made
from compare.interpretations.cost_einsum import contract
from compare.interpretations.cost_tracker import record

# --- elementwise ------------------------------------------------------------------------------------------


def exp(x):
    return elementwise("exp", np.exp, x, transcendentals=1)


def log(x):
    return elementwise("log", np.log, x, transcendentals=1)


def sqrt(x):
    return elementwise("sqrt", np.sqrt, x, transcendentals=1)


def tanh(x):
    return elementwise("tanh", np.tanh, x, transcendentals=1)


def sin(x):
    return elementwise("sin", np.sin, x, transcendentals=1)


def cos(x):
    return elementwise("cos", np.cos, x, transcendentals=1)


def erf(x):
    return elementwise("erf", np.tanh, x, transcendentals=1)  # the dtype follows the rule of tanh


def floor(x):
    return elementwise("floor", np.floor, x)


def isfinite(x):
    return elementwise("isfinite", np.isfinite, x)


def where(mask, a, b):
    return elementwise("where", np.where, mask, a, b)


# --- reductions: adding n numbers takes n - 1 additions; a maximum takes none ----------------------------


def sum(x, axis=None, keepdims=False):
    return _reduced("sum", np.sum, x, axis, keepdims, additions=1)


def mean(x, axis=None, keepdims=False):
    return _reduced("mean", np.mean, x, axis, keepdims, additions=1, divisions=1)


def max(x, axis=None, keepdims=False):
    return _reduced("max", np.max, x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    return _reduced("min", np.min, x, axis, keepdims)


def any(mask, axis=None, keepdims=False):
    return _reduced("any", np.any, mask, axis, keepdims)


def all(mask, axis=None, keepdims=False):
    return _reduced("all", np.all, mask, axis, keepdims)


def argmax(x, axis=None):
    return _reduced("argmax", np.argmax, x, axis, False)


def cumsum(x, axis):
    additions = x.size - (x.size // x.shape[axis] if x.size else 0)
    return made("cumsum", x.shape, dtype_of(lambda one: np.cumsum(one, axis=0), x), x, flops=additions)


def argsort(x, axis=-1):
    return made("argsort", x.shape, int64, x)


def _reduced(word, function, x, axis, keepdims, *, additions=0, divisions=0):
    axes = range(x.ndim) if axis is None else [_axis(one, x.ndim) for one in np.atleast_1d(axis).tolist()]
    sizes = [1 if i in axes else size for i, size in enumerate(x.shape)]
    shape = tuple(size for i, size in enumerate(sizes) if keepdims or i not in axes)
    n_out = math.prod(shape)
    flops = additions * np.maximum(x.size - n_out, 0).item() + divisions * n_out
    return made(word, shape, dtype_of(function, x), x, flops=flops)


def _axis(axis, ndim):
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


# --- products ---------------------------------------------------------------------------------------------


def matmul(a, b):
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"expected matrices that can be multiplied, got shapes {a.shape} and {b.shape}")
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    return made("matmul", shape, dtype_of(np.matmul, a, b), a, b, flops=2 * math.prod(shape) * a.shape[-1])


def einsum(spec, *operands):
    return contract(spec, operands)


def scatter_add(ids, values, n):
    if ids.shape != values.shape[:1]:
        raise ValueError(f"expected one id for each row, got shapes {ids.shape} and {values.shape}")
    return made("scatter_add", (n, *values.shape[1:]), values.dtype, ids, values, flops=values.size)


# --- shape: views where NumPy gives views, else copies ---------------------------------------------------


def reshape(x, shape):
    try:
        layout = np.reshape(x.layout, shape, copy=False)
    except ValueError:  # not a view, or impossible
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        known = math.prod(length for length in shape if length != -1) or 1
        shape = tuple(x.size // known if length == -1 else length for length in shape)
        if math.prod(shape) != x.size:
            raise
        return made("reshape", shape, x.dtype, x)
    return _view("reshape", layout, x)


def swapaxes(x, axis1, axis2):
    return _view("swapaxes", np.swapaxes(x.layout, axis1, axis2), x)


def moveaxis(x, source, destination):
    return _view("moveaxis", np.moveaxis(x.layout, source, destination), x)


def expand_dims(x, axis):
    return _view("expand_dims", np.expand_dims(x.layout, axis), x)


def squeeze(x, axis):
    return _view("squeeze", np.squeeze(x.layout, axis), x)


def split(x, boundaries, axis=0):
    return [_view("split", part, x) for part in np.split(x.layout, boundaries, axis=axis)]


def _view(word, layout, x):
    record(word)
    return Shaped(layout, x.buffer)


def concatenate(arrays, axis=0):
    first = arrays[0]
    axis = _axis(axis, first.ndim)
    rest = {(*x.shape[:axis], *x.shape[axis + 1 :]) for x in arrays}
    if len(rest) > 1 or len({x.ndim for x in arrays}) > 1:
        shapes = [x.shape for x in arrays]
        raise ValueError(f"expected shapes that differ along axis {axis} only, got {shapes}")
    length = np.sum([x.shape[axis] for x in arrays]).item()
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    return made("concatenate", shape, dtype_of(lambda *ones: np.concatenate(ones), *arrays), *arrays)


def stack(arrays, axis=0):
    first = arrays[0]
    if len({x.shape for x in arrays}) > 1:
        raise ValueError(f"expected arrays of one shape, got {[x.shape for x in arrays]}")
    axis = _axis(axis, first.ndim + 1)
    shape = (*first.shape[:axis], len(arrays), *first.shape[axis:])
    return made("stack", shape, dtype_of(lambda *ones: np.concatenate(ones), *arrays), *arrays)


def pad(x, widths, mode="constant", constant_values=0):
    before_after = np.broadcast_to(widths, (x.ndim, 2)).tolist()
    shape = tuple(before + size + after for size, (before, after) in zip(x.shape, before_after, strict=True))
    return made("pad", shape, x.dtype, x)


def tril(x, k=0):
    return made("tril", x.shape, x.dtype, x)


def triu(x, k=0):
    return made("triu", x.shape, x.dtype, x)


# --- creation ---------------------------------------------------------------------------------------------


def zeros(shape, dtype=float64):
    return _created("zeros", shape, dtype)


def ones(shape, dtype=float64):
    return _created("ones", shape, dtype)


def full(shape, number, dtype=None):
    return _created("full", shape, np.asarray(checked(number)).dtype if dtype is None else dtype)


def arange(*bounds):
    return made("arange", (len(range(*bounds)),), int64)


def asarray(numbers, *, dtype):
    return made("asarray", np.shape(numbers), np.dtype(dtype))


def zeros_like(x):
    return made("zeros_like", x.shape, x.dtype)


def ones_like(x):
    return made("ones_like", x.shape, x.dtype)


def _created(word, shape, dtype):
    return made(word, (shape,) if isinstance(shape, int) else tuple(shape), dtype)
