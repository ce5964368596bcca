"""Spread arrays: a value, and the variance of the error that a legal implementation may make in it.

The text of a component runs on them unchanged, forward and pullback.  Errors are taken to first order and as
independent.  The square root of the variance of an output is the unit, sigma, in which candidates are judged.
"""

import math
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from compare.interpretations.policy import policy_for, widens

_softened = ContextVar("softened", default=None)


class Spread:
    """An array of (value, variance of its rounding error) in the dtype of the implementation it speaks of.

    Parameters
    ----------
    value : numpy.ndarray, shape (...)
        The true value, kept in float64 or longdouble; integers and booleans as they are.
    variance : numpy.ndarray, shape (...) or None
        The variance of the error; None says that the value is exact.  The variance of a boolean is P(1 - P)
        with P the probability that rounding flips it.
    dtype : dtype
        The dtype of the implementation, such as float32, whose policy tells where it rounds.
    n_term : int, optional
        Where the array is a sum of products and nothing else, the number of its terms: a kernel may put whatever is
        added next into that sum.
    """

    __array_ufunc__ = None  # NumPy arrays on the left must not take a Spread apart elementwise

    def __init__(self, value, variance, dtype, n_term=0):
        self.value = np.asarray(value)
        self.variance = variance
        self.dtype = np.dtype(dtype)
        self.n_term = n_term

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)

    def __array_namespace__(self, api_version=None):
        from compare.interpretations import spread_words

        return spread_words

    def __repr__(self):
        return f"Spread({self.value!r}, sigma={self.sigma!r}, dtype={self.dtype})"

    def __len__(self):
        return len(self.value)

    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        return int(self.value)

    @property
    def sigma(self):
        """Standard deviation of the rounding error.

        Returns
        -------
        numpy.ndarray, shape (...)
            Zeros where the value is exact.
        """
        return np.zeros(self.shape, self.value.dtype) if self.variance is None else np.sqrt(self.variance)

    def __getitem__(self, index):
        index = bare(index)
        return structural(lambda part: part[index], self)

    def astype(self, dtype):
        """Convert the implementation's dtype; a narrower one rounds.

        Parameters
        ----------
        dtype : dtype
            The new dtype.

        Returns
        -------
        Spread
            The converted array.
        """
        dtype = np.dtype(dtype)
        if self.dtype.kind == "b" and dtype.kind not in "iub":
            return Spread(self.value.astype(np.float64), self.variance, dtype)
        if dtype.kind in "iub" or self.dtype.kind in "iu":
            kept = self.value.astype(dtype if dtype.kind in "iub" else np.float64)
            return Spread(kept, None, dtype)
        narrower = policy_for(dtype).store > policy_for(self.dtype).store
        if narrower:
            return stored(self.value, variance_of(self), dtype)
        stays = self.dtype.itemsize < 4 and not widens()
        return Spread(self.value, self.variance, self.dtype if stays else dtype)

    def __neg__(self):
        return Spread(-self.value, self.variance, self.dtype)

    def __add__(self, other):
        return _add(self, lift_constant(other, self))

    def __radd__(self, other):
        return _add(lift_constant(other, self), self)

    def __sub__(self, other):
        return _add(self, -lift_constant(other, self))

    def __rsub__(self, other):
        return _add(lift_constant(other, self), -self)

    def __mul__(self, other):
        return _multiply(self, lift_constant(other, self))

    def __rmul__(self, other):
        return _multiply(lift_constant(other, self), self)

    def __truediv__(self, other):
        return _divide(self, lift_constant(other, self))

    def __rtruediv__(self, other):
        return _divide(lift_constant(other, self), self)

    def __gt__(self, other):
        return _compare(np.greater, self, other)

    def __ge__(self, other):
        return _compare(np.greater_equal, self, other)

    def __lt__(self, other):
        return _compare(np.less, self, other)

    def __le__(self, other):
        return _compare(np.less_equal, self, other)

    def __eq__(self, other):
        return _compare(np.equal, self, other)

    def __ne__(self, other):
        return _compare(np.not_equal, self, other)

    __hash__ = None

    def __and__(self, other):
        return _logical(np.logical_and, self, other)

    def __or__(self, other):
        return _logical(np.logical_or, self, other)

    def __invert__(self):
        return Spread(~self.value, self.variance, self.dtype)


def spread(x, dtype, *, value_dtype=np.float64):
    """Lift an exact NumPy array; floats get `dtype`, integers and booleans keep theirs.

    Parameters
    ----------
    x : array_like, shape (...)
        Numbers that the implementation receives exactly.
    dtype : dtype
        The dtype of the implementation that is judged.
    value_dtype : dtype, optional
        The precision of the truth: float64, or longdouble to judge float64.

    Returns
    -------
    Spread, shape (...)
        The exact array.
    """
    x = np.asarray(x)
    if x.dtype.kind in "iub":
        return Spread(x, None, x.dtype)
    return Spread(x.astype(value_dtype), None, dtype)


@contextmanager
def counting_softened():
    """Count the elements whose tolerance was widened because rounding may flip a branch.

    Yields
    ------
    callable
        Gives the count so far.
    """
    counts = []
    token = _softened.set(counts)
    try:
        yield lambda: int(sum(counts))
    finally:
        _softened.reset(token)


def record_softened(count):
    """Add to the innermost `counting_softened`.

    Parameters
    ----------
    count : int
        The number of elements.
    """
    counts = _softened.get()
    if counts is not None:
        counts.append(count)


def variance_of(x):
    """Variance of a Spread, or of anything exact, as something that broadcasts.

    Parameters
    ----------
    x : Spread
        Any spread array.

    Returns
    -------
    numpy.ndarray or float
        Its variance; 0.0 when exact.
    """
    return 0.0 if x.variance is None else x.variance


def bare(tree):
    """Take the plain values out of an index.

    Parameters
    ----------
    tree : object
        An index: integers, slices, arrays, or a tuple of them.

    Returns
    -------
    object
        The same with NumPy arrays for spread arrays.
    """
    if isinstance(tree, tuple):
        return tuple(bare(item) for item in tree)
    return tree.value if isinstance(tree, Spread) else tree


def structural(move, x):
    """Apply a function that moves elements but computes nothing.

    Parameters
    ----------
    move : callable
        Acts on a NumPy array.
    x : Spread
        The array.

    Returns
    -------
    Spread
        The moved array.
    """
    return Spread(move(x.value), None if x.variance is None else move(x.variance), x.dtype)


def stored(value, variance, dtype):
    """Round a computed value into the dtype: the variance grows by the policy's share.

    Parameters
    ----------
    value : numpy.ndarray
        The true value.
    variance : numpy.ndarray or float
        The variance of the error that came in.
    dtype : numpy.dtype
        The implementation's dtype.

    Returns
    -------
    Spread
        The stored array.
    """
    policy = policy_for(dtype)
    with np.errstate(all="ignore"):
        total = variance + (policy.store * (value * value) + value.dtype.type(policy.subnormal))
        # An infinity or NaN is compared as such; an exact 0 stays exact unless something uncertain came in.
        total = np.where(np.isfinite(value) & ((value != 0) | (np.asarray(variance) != 0)), total, 0.0)
    return Spread(value, total, dtype)


def lift_constant(x, like):
    """Turn a Python number into a Spread; one that the dtype cannot hold has been rounded.

    Parameters
    ----------
    x : float, int or Spread
        The number.
    like : Spread
        The array it meets.

    Returns
    -------
    Spread
        The number, 0-d.

    Raises
    ------
    TypeError
        For NumPy arrays: a spread array does not mix with host arrays.
    """
    if isinstance(x, Spread):
        return x
    if isinstance(x, np.ndarray | np.generic):
        raise TypeError(f"expected a Spread or a Python number, got {type(x).__name__}")
    if like.dtype.kind in "iub":
        return Spread(np.asarray(x), None, like.dtype if isinstance(x, int) else np.float64)
    value = like.value.dtype.type(x)
    with np.errstate(over="ignore"):
        exact = float(np.asarray(x, like.dtype)) == x or not math.isfinite(x)
    if exact:
        return Spread(value, None, like.dtype)
    return stored(value, 0.0, like.dtype)


def _common_dtype(a, b):
    if a.dtype == b.dtype:
        return a.dtype
    if "iub".find(a.dtype.kind) >= 0:
        return b.dtype
    if "iub".find(b.dtype.kind) >= 0:
        return a.dtype
    return min(a.dtype, b.dtype, key=lambda dtype: policy_for(dtype).store)


def _elementwise(value, variance, a, b):
    dtype = _common_dtype(a, b)
    if dtype.kind in "iub":
        return Spread(value, None, value.dtype)
    return stored(value, variance, dtype)


def _add(a, b):
    with np.errstate(all="ignore"):
        variance = variance_of(a) + variance_of(b) + _inside_the_sum(a, b) + _inside_the_sum(b, a)
        return _elementwise(a.value + b.value, variance, a, b)


def _inside_the_sum(total, first):
    """Variance that a sum of K products gains when a kernel starts it from what is added to it, such as a bias.

    The partial sums are then b + p_k instead of p_k, and each rounds: r sum((b + p_k)^2) exceeds r sum(p_k^2), which
    the sum has already, by r (K b^2 + 2 b sum(p_k)).  On the way from 0 to the result y, p_k is about k y / K, and the
    excess K r (b^2 + b y).  (`torch.addmm` on the CPU does this: with K = 1536 and b = 20 y its error is 20 times that
    of a product to which b is added.)
    """
    if not total.n_term:
        return 0.0
    excess = first.value * first.value + first.value * total.value
    return policy_for(total.dtype).accumulate * total.n_term * np.maximum(excess, 0.0)


def _multiply(a, b):
    with np.errstate(all="ignore"):
        variance = a.value * a.value * variance_of(b) + b.value * b.value * variance_of(a)
        if a is b:
            # Of a square near 0 the first order vanishes.  Three squares of the variance are the fourth moment of a
            # normal error.
            variance = variance + 3.0 * (variance_of(a) * variance_of(a))
        return _elementwise(a.value * b.value, variance, a, b)


def _divide(a, b):
    with np.errstate(all="ignore"):
        value = a.value / b.value
        variance = (variance_of(a) + value * value * variance_of(b)) / (b.value * b.value)
        return _elementwise(value, variance, a, b)


def _compare(relation, a, b):
    b = lift_constant(b, a)
    value = relation(a.value, b.value)
    variance = variance_of(a) + variance_of(b)
    if not np.any(variance):
        return Spread(value, None, np.bool_)
    with np.errstate(invalid="ignore"):  # inf - inf: equal, and no rounding changes that
        difference = a.value - b.value
    return Spread(value, flip_variance(difference, variance), np.bool_)


def flip_variance(difference, variance):
    """Variance P(1 - P) of a branch taken on the sign of a difference.

    Parameters
    ----------
    difference : numpy.ndarray
        What is compared with 0.
    variance : numpy.ndarray
        The variance of its error.

    Returns
    -------
    numpy.ndarray
        P(1 - P), where P is the probability that a normal error of this variance changes the sign.
    """
    from scipy.special import ndtr

    with np.errstate(all="ignore"):
        distance = np.where(variance > 0, np.abs(difference) / np.sqrt(variance), np.inf).astype(np.float64)
    flip = ndtr(-np.where(np.isnan(distance), np.inf, distance))
    return flip * (1 - flip)


def _logical(operation, a, b):
    if not isinstance(b, Spread):
        raise TypeError(f"expected a Spread mask, got {type(b).__name__}")
    value = operation(a.value, b.value)
    if a.variance is None and b.variance is None:
        return Spread(value, None, np.bool_)
    return Spread(value, np.minimum(variance_of(a) + variance_of(b), 0.25) + np.zeros(value.shape), np.bool_)
