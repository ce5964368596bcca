"""The few functions that every library keeps under another name: erf, logsumexp, scatter-add."""

import importlib
import math
import sys

import numpy as np

from refimpl.arrays.namespace import array_namespace
from refimpl.arrays.narrow import Narrow, narrow

# Where the libraries keep their special functions; a namespace that is not listed brings its own `erf`.
_SPECIAL_MODULES = {
    "autograd.numpy": "autograd.scipy.special",
    "cupy": "cupyx.scipy.special",
    "jax.numpy": "jax.scipy.special",
}


def erf(x):
    """Gauss error function, 2/sqrt(pi) times the integral of exp(-t²) from 0 to x.

    Parameters
    ----------
    x : array, shape (...)
        Real or complex.

    Returns
    -------
    array, shape (...)
        erf(x) in the dtype of `x`.

    References
    ----------
    Abramowitz & Stegun (1964), eq. 7.1.1; the extended-precision series is 7.1.6.
    """
    xp = array_namespace(x)
    if hasattr(xp, "erf"):
        return xp.erf(x)
    if xp is np:
        return _numpy_erf(x)
    return importlib.import_module(_SPECIAL_MODULES[xp.__name__]).erf(x)


def _numpy_erf(x):
    from scipy import special  # NumPy has no erf, and SciPy is slow to import

    if x.dtype in (np.dtype(np.longdouble), np.dtype(np.clongdouble)):
        return _erf_series(x)  # SciPy's erf rounds to float64
    return special.erf(x).astype(x.dtype)


def _erf_series(x):
    # Every term of 2/sqrt(pi) exp(-x²) sum 2^n x^(2n+1) / (2n+1)!! has the sign of x: nothing cancels.
    # Beyond 6.6 erfc is below half a unit in the last place of a 64-bit significand.
    within = np.where(np.abs(x.real) > 6.6, np.copysign(6.6, x.real).astype(x.dtype), x)
    term = within
    total = within
    n = 0
    while np.any(np.abs(term) > np.finfo(x.dtype).eps / 4 * np.abs(total)):
        n += 1
        term = term * (2 * within * within / (2 * n + 1))
        total = total + term
    # 2/sqrt(pi) in extended precision: pi as the sum of two doubles.
    pi = np.longdouble(math.pi) + np.longdouble(1.2246467991473532e-16)
    return total * np.exp(-within * within) * (2 / np.sqrt(pi))


def logsumexp(x):
    """Logarithm of the sum of exponentials over the last axis, without overflow.

    Parameters
    ----------
    x : array, shape (..., n)
        Any numbers; minus infinity counts as a term of 0.

    Returns
    -------
    array, shape (...)
        log(sum(exp(x))) over the last axis; minus infinity where every entry is, or where n is 0.
    """
    xp = array_namespace(x)
    if x.shape[-1] == 0:
        return xp.sum(x, axis=-1) - math.inf  # not full(): that gives raw 16-bit arrays, which are refused
    highest = xp.max(x, axis=-1, keepdims=True)
    shift = xp.where(xp.isfinite(highest), highest, 0.0)  # -inf - -inf would be NaN
    total = xp.sum(xp.exp(x - shift), axis=-1)
    empty = total == 0.0
    return xp.where(empty, -math.inf, xp.log(xp.where(empty, 1.0, total)) + xp.squeeze(shift, axis=-1))


def scatter_add(ids, values, n):
    """Add rows to the rows they belong to: the transpose of ``table[ids]``.

    Parameters
    ----------
    ids : array of int, shape (n_row,)
        Where each row goes; repeated ids add up.
    values : array, shape (n_row, d)
        The rows.
    n : int
        The number of rows of the result.

    Returns
    -------
    array, shape (n, d)
        Row i is the sum of the values whose id is i.
    """
    xp = array_namespace(ids, values)
    if hasattr(xp, "scatter_add"):
        return xp.scatter_add(ids, values, n)
    if xp is np or xp is sys.modules.get("cupy"):
        # Sums are kept in float32 where the storage is narrower.
        wide = values.astype(np.float32) if isinstance(values, Narrow) else values
        table = xp.zeros((n, values.shape[1]), dtype=wide.dtype)
        xp.add.at(table, ids, wide)
        return narrow(table, values.dtype) if isinstance(values, Narrow) else table
    one_hot = (ids[:, None] == xp.arange(n)[None, :]).astype(values.dtype)  # (n_row, n)
    return xp.einsum("rn,rd->nd", one_hot, values)
