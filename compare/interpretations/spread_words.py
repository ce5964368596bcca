"""The vocabulary on spread arrays: for every word, what it does to a value and to its variance."""

import math

import numpy as np
from numpy import bool_, float32, float64, int64  # noqa: F401  (words of the vocabulary)

from compare.interpretations.policy import erf_variance, policy_for
from compare.interpretations.spread import (
    Spread,
    bare,
    flip_variance,
    lift_constant,
    record_softened,
    stored,
    structural,
    variance_of,
)
from refimpl.arrays.special import erf as _erf_of_values

# --- elementwise: the variance is multiplied by the square of the derivative -----------------------------


def _function(value, slope, x):
    with np.errstate(all="ignore"):
        return stored(value, np.where(np.isfinite(value), slope * slope * variance_of(x), 0.0), x.dtype)


def exp(x):
    with np.errstate(all="ignore"):
        value = np.exp(x.value)
    return _function(value, value, x)


def log(x):
    with np.errstate(all="ignore"):
        return _function(np.log(x.value), 1 / x.value, x)


def sqrt(x):
    with np.errstate(all="ignore"):
        value = np.sqrt(x.value)
        # Near 0 the first order has no bound, but no root moves by more than the root of what moved its square.
        variance = np.fmin(variance_of(x) / (4 * value * value), np.sqrt(variance_of(x)))
    return stored(value, variance, x.dtype)


def tanh(x):
    value = np.tanh(x.value)
    return _function(value, 1 - value * value, x)


def sin(x):
    return _function(np.sin(x.value), np.cos(x.value), x)


def cos(x):
    return _function(np.cos(x.value), np.sin(x.value), x)


def erf(x):
    slope = 2 / math.sqrt(math.pi) * np.exp(-x.value * x.value)
    return stored(_erf_of_values(x.value), slope * slope * variance_of(x) + erf_variance(), x.dtype)


def floor(x):
    value = np.floor(x.value)
    nearest = np.round(x.value)
    variance = flip_variance(x.value - nearest, np.asarray(variance_of(x)))
    return Spread(value, variance + np.zeros(x.shape), x.dtype)


def isfinite(x):
    return Spread(np.isfinite(x.value), None, bool_)


def where(mask, a, b):
    like = a if isinstance(a, Spread) else b
    a, b = lift_constant(a, like), lift_constant(b, like)
    value = np.where(mask.value, a.value, b.value)
    base = np.where(mask.value, variance_of(a), variance_of(b))
    if mask.variance is None:
        exact = a.variance is None and b.variance is None
        return Spread(value, None if exact else base, like.dtype)
    other = np.where(mask.value, variance_of(b), variance_of(a))
    # P (1 - P), with P the probability of the other branch, at most a half.
    p = 2 * mask.variance / (1 + np.sqrt(np.maximum(1 - 4 * mask.variance, 0)))
    with np.errstate(all="ignore"):
        jump = a.value - b.value
        # The law of total variance: what either branch varies by itself, and what the two differ by.
        softening = np.where(np.isfinite(jump), mask.variance * (jump * jump), 0.0)
        softening += np.where(np.isfinite(other), p * (other - base), 0.0)
    record_softened(np.count_nonzero(softening > base))
    return Spread(value, base + softening, like.dtype)


# --- sums and products: a sum of K terms rounds at every addition -----------------------------------------


def _accumulation(n_term, squares, value, policy):
    # Partial sums of terms of random sign grow like their root mean square, which gives K/2 times the sum of
    # squares; terms of one sign add up coherently to a share of the result, which gives K/3 of its square.
    return policy.accumulate * (n_term / 2 * squares + n_term / 3 * (value * value))


def sum(x, axis=None, keepdims=False):
    with np.errstate(all="ignore"):
        value = np.sum(x.value, axis=axis, keepdims=keepdims)
    if x.dtype.kind in "iub":
        return Spread(value, None, value.dtype)
    n_term = x.size / np.maximum(value.size, 1)
    if n_term <= 1:
        return structural(lambda part: np.sum(part, axis=axis, keepdims=keepdims), x)
    with np.errstate(all="ignore"):
        squares = np.sum(x.value * x.value, axis=axis, keepdims=keepdims)
        inherited = 0.0 if x.variance is None else np.sum(x.variance, axis=axis, keepdims=keepdims)
        variance = inherited + _accumulation(n_term, squares, value, policy_for(x.dtype))
    return stored(value, variance, x.dtype)


def mean(x, axis=None, keepdims=False):
    total = sum(x, axis=axis, keepdims=keepdims)
    return total / float(x.size / np.maximum(total.size, 1))


def cumsum(x, axis=None):
    with np.errstate(all="ignore"):
        value = np.cumsum(x.value, axis=axis)
    if x.dtype.kind in "iub":
        return Spread(value, None, value.dtype)
    inherited = 0.0 if x.variance is None else np.cumsum(x.variance, axis=axis)
    squares = np.cumsum(x.value * x.value, axis=axis)
    own = _accumulation(x.shape[axis], squares, value, policy_for(x.dtype))
    return stored(value, inherited + own, x.dtype)


def matmul(a, b):
    return _product(np.matmul, a.shape[-1], a, b)


def einsum(spec, *operands):
    inputs, output = spec.split("->")
    sizes = {}
    for term, operand in zip(inputs.split(","), operands, strict=True):
        letters = term.replace("...", "")
        head = term.split("...")[0] if "..." in term else term
        tail = letters[len(head) :]
        sizes.update(zip(head, operand.shape[: len(head)], strict=True))
        sizes.update(zip(tail, operand.shape[operand.ndim - len(tail) :], strict=True))
    n_term = math.prod(size for letter, size in sizes.items() if letter not in output)
    return _product(lambda *parts: np.einsum(spec, *parts, optimize=True), n_term, *operands)


def _product(multiply, n_term, *operands):
    policy = policy_for(operands[0].dtype)
    with np.errstate(all="ignore"):
        value = multiply(*(x.value for x in operands))
        squares = [x.value * x.value for x in operands]
        # The rounding of the sum rides on the variance of one operand that has some, so on no product of its own.
        carrier = next((i for i, x in enumerate(operands) if x.variance is not None), 0)
        variance = policy.accumulate * n_term / 3 * (value * value)
        for i, operand in enumerate(operands):
            own = policy.accumulate * (1 + n_term / 2) * squares[i] if i == carrier else 0.0
            if i == carrier or operand.variance is not None:
                variance = variance + multiply(*squares[:i], own + variance_of(operand), *squares[i + 1 :])
    total = stored(value, variance, operands[0].dtype)
    return Spread(total.value, total.variance, total.dtype, n_term)


def scatter_add(ids, values, n):
    rows, row_of, n_hit = np.unique(bare(ids), return_inverse=True, return_counts=True)

    def collect(part):
        collected = np.zeros((len(rows), values.shape[1]), part.dtype)
        np.add.at(collected, row_of, part)
        return collected

    value, squares = collect(values.value), collect(values.value * values.value)
    inherited = 0.0 if values.variance is None else collect(values.variance)
    # A row that is hit once is copied, not added.
    n_term = n_hit[:, None]
    own = np.where(n_term > 1, _accumulation(n_term, squares, value, policy_for(values.dtype)), 0.0)
    hit = stored(value, own + inherited, values.dtype)

    def place(part):
        table = np.zeros((n, values.shape[1]), part.dtype)
        table[rows] = part
        return table

    return Spread(place(hit.value), place(hit.variance), values.dtype)


# --- choices: the variance of the element that was chosen -------------------------------------------------


def max(x, axis=None, keepdims=False):
    return _extreme(np.max, np.argmax, x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    return _extreme(np.min, np.argmin, x, axis, keepdims)


def _extreme(extreme, arg_extreme, x, axis, keepdims):
    value = extreme(x.value, axis=axis, keepdims=keepdims)
    if x.variance is None:
        return Spread(value, None, x.dtype)
    axes = tuple(range(x.ndim)) if axis is None else np.atleast_1d(axis).tolist()
    last = tuple(range(x.ndim - len(axes), x.ndim))
    front = [np.moveaxis(part, axes, last) for part in (x.value, x.variance)]
    n_chosen = math.prod(x.shape[axis] for axis in axes)
    flat_value, flat_variance = (part.reshape(*part.shape[: last[0]], n_chosen) for part in front)
    chosen = arg_extreme(flat_value, axis=-1)[..., None]
    return Spread(value, np.take_along_axis(flat_variance, chosen, axis=-1).reshape(value.shape), x.dtype)


def any(mask, axis=None, keepdims=False):
    return Spread(np.any(mask.value, axis=axis, keepdims=keepdims), None, bool_)


def all(mask, axis=None, keepdims=False):
    return Spread(np.all(mask.value, axis=axis, keepdims=keepdims), None, bool_)


def argmax(x, axis=None):
    return Spread(np.argmax(x.value, axis=axis), None, int64)


def argsort(x, axis=-1):
    return Spread(np.argsort(x.value, axis=axis, stable=True), None, int64)


# --- shape: elements move, nothing is computed ------------------------------------------------------------


def reshape(x, shape):
    return structural(lambda part: np.reshape(part, shape), x)


def swapaxes(x, axis1, axis2):
    return structural(lambda part: np.swapaxes(part, axis1, axis2), x)


def moveaxis(x, source, destination):
    return structural(lambda part: np.moveaxis(part, source, destination), x)


def expand_dims(x, axis):
    return structural(lambda part: np.expand_dims(part, axis), x)


def squeeze(x, axis):
    return structural(lambda part: np.squeeze(part, axis), x)


def tril(x, k=0):
    return structural(lambda part: np.tril(part, k), x)


def triu(x, k=0):
    return structural(lambda part: np.triu(part, k), x)


def pad(x, widths, mode="constant", constant_values=0):
    filler = lift_constant(constant_values, x)
    value = np.pad(x.value, widths, mode=mode, constant_values=filler.value)
    if x.variance is None and filler.variance is None:
        return Spread(value, None, x.dtype)
    variance = variance_of(x) + np.zeros(x.shape)
    return Spread(value, np.pad(variance, widths, constant_values=variance_of(filler)), x.dtype)


def concatenate(arrays, axis=0):
    return _joined(np.concatenate, arrays, axis)


def stack(arrays, axis=0):
    return _joined(np.stack, arrays, axis)


def _joined(join, arrays, axis):
    value = join([x.value for x in arrays], axis=axis)
    if not np.any([x.variance is not None for x in arrays]):
        return Spread(value, None, arrays[0].dtype)
    full = [np.zeros(x.shape) if x.variance is None else x.variance for x in arrays]
    return Spread(value, join(full, axis=axis), arrays[0].dtype)


def split(x, boundaries, axis=0):
    values = np.split(x.value, boundaries, axis=axis)
    variances = [None] * len(values) if x.variance is None else np.split(x.variance, boundaries, axis=axis)
    return [Spread(value, variance, x.dtype) for value, variance in zip(values, variances, strict=True)]


# --- creation: exact --------------------------------------------------------------------------------------


def _new(value, dtype):
    return Spread(value if np.dtype(dtype).kind in "iub" else value.astype(np.float64), None, dtype)


def zeros(shape, dtype=float64):
    return _new(np.zeros(shape, dtype), dtype)


def ones(shape, dtype=float64):
    return _new(np.ones(shape, dtype), dtype)


def full(shape, number, dtype=float64):
    return _new(np.full(shape, number, dtype), dtype)


def arange(*bounds):
    return Spread(np.arange(*bounds), None, int64)


def asarray(numbers, *, dtype):
    value = np.asarray(numbers, dtype)
    if value.dtype.kind in "iub":
        return Spread(value, None, dtype)
    # Computed on the host and rounded there: others may compute them in the dtype itself.
    return stored(np.asarray(numbers, np.float64), 0.0, np.dtype(dtype))


def zeros_like(x):
    return Spread(np.zeros_like(x.value), None, x.dtype)


def ones_like(x):
    return Spread(np.ones_like(x.value), None, x.dtype)
