"""The spread rule: an element more than 10 sigma from the truth is wrong.

Sigma is the standard deviation of the rounding error that a legal implementation of this dtype may make in this
very element; it comes from running the reference on spread arrays.  There is no other tolerance.
"""

import math

import ml_dtypes
import numpy as np

LIMIT = 10.0


def judge(candidate, truth, *, rounded_truth=False, softened=0):
    """Judge one tensor against the truth.

    Parameters
    ----------
    candidate : numpy.ndarray, shape (...)
        What an implementation returned, in its own dtype.
    truth : Spread, shape (...)
        The true value, its variance, and the dtype the candidate must have.
    rounded_truth : bool, optional
        Whether the truth was computed in the candidate's own dtype: then both are rounded, and the variance of
        their difference is twice that of one.
    softened : int, optional
        The number of elements whose tolerance was widened because rounding may flip a branch.

    Returns
    -------
    dict
        The error figures of the report's schema; ``passed`` and ``reason`` are the judgement.
    """
    problem = _form_problem(candidate, truth)
    if problem:
        return _figures(candidate, problem, softened)
    value = np.asarray(truth.value)
    sigma = np.asarray(truth.sigma) * (math.sqrt(2.0) if rounded_truth else 1.0)
    with np.errstate(all="ignore"):
        # The difference is taken in the precision of the truth; float64 will do for its size.
        error = np.abs(candidate.astype(value.dtype) - value).astype(np.float64)
        value, got = value.astype(np.float64, copy=False), candidate.astype(np.float64, copy=False)
        if not np.isfinite(error).all():
            error = _error_with_specials(error, got, value)
        in_sigma = np.divide(error, sigma, out=np.zeros_like(error), where=error != 0)
        if np.isinf(sigma).any():
            in_sigma[np.isinf(sigma) & (error != 0)] = np.inf  # a tolerance without bound would let anything through
        return _figures(candidate, "", softened) | _error_figures(got, value, error, in_sigma, candidate.dtype)


def _error_with_specials(error, got, value):
    """Infinities must be the same infinity, NaN must be NaN: an inf in the truth must not let zeros through."""
    finite = np.isfinite(value) & np.isfinite(got)
    agree = (got == value) | (np.isnan(got) & np.isnan(value))
    return np.where(finite, error, np.where(agree, 0, np.inf))


def _form_problem(candidate, truth):
    if candidate is None:
        return "missing: nothing was returned"
    if not isinstance(candidate, np.ndarray):
        return f"expected an array, got {type(candidate).__name__}"
    if candidate.shape != truth.shape:
        return f"expected shape {truth.shape}, got {candidate.shape}"
    if candidate.dtype != truth.dtype:
        return f"expected dtype {truth.dtype}, got {candidate.dtype}"
    return ""


def _figures(candidate, problem, softened):
    shape = list(getattr(candidate, "shape", ()))
    return {
        "passed": not problem,
        "reason": problem,
        "shape": shape,
        "dtype": str(getattr(candidate, "dtype", type(candidate).__name__)),
        "n": int(np.prod(shape)),
        "sigma_max": math.inf if problem else 0.0,
        "sigma_q999": math.inf if problem else 0.0,
        "ulp_max": math.inf if problem else 0.0,
        "abs_max": math.inf if problem else 0.0,
        "rel_max": math.inf if problem else 0.0,
        "cosine": 0.0 if problem else 1.0,
        "worst_index": [],
        "worst_value": math.nan,
        "worst_truth": math.nan,
        "min_tolerance": math.inf if problem else 0.0,
        "softened": softened,
    }


def _error_figures(got, value, error, in_sigma, dtype):
    if not error.size:
        return {}
    worst = np.unravel_index(np.argmax(in_sigma), error.shape)
    sigma_max = float(in_sigma[worst])
    magnitude = np.abs(value)
    if not np.isfinite(magnitude).all():
        magnitude = np.where(np.isfinite(magnitude), magnitude, 0)
    largest = float(magnitude.max())
    abs_max = float(error.max())
    passed = sigma_max <= LIMIT
    where = f"[{', '.join(str(int(i)) for i in worst)}]"
    return {
        "passed": passed,
        "reason": "" if passed else f"element {where} is {sigma_max:.3g} sigma from the truth, more than {LIMIT:g}",
        "sigma_max": sigma_max,
        "sigma_q999": _high_quantile(in_sigma.ravel()),
        "ulp_max": float(np.max(_in_ulp(error, magnitude, dtype))),
        "abs_max": abs_max,
        "rel_max": abs_max / largest if largest else (0.0 if abs_max == 0 else math.inf),
        "cosine": _cosine(got.ravel(), value.ravel()),
        "worst_index": [int(i) for i in worst],
        "worst_value": float(got[worst]),
        "worst_truth": float(value[worst]),
        "min_tolerance": float(np.max(error / (1 + magnitude))),
    }


def _high_quantile(in_sigma):
    """Find the smallest element that 99.9 % do not exceed."""
    k = math.ceil(0.999 * (in_sigma.size - 1))
    return float(np.partition(in_sigma, k)[k])


def _in_ulp(error, magnitude, dtype):
    info = ml_dtypes.finfo(dtype)
    unit = np.maximum(magnitude, float(info.smallest_normal), out=np.empty_like(magnitude))
    # Without the bits of its fraction, a number is the power of two at or below it.
    bits = unit.view(np.uint64)
    np.bitwise_and(bits, np.uint64(0x7FF0_0000_0000_0000), out=bits)
    unit *= float(info.eps)
    return np.divide(error, unit, out=unit)


def _cosine(got, value):
    a, b = _scaled(got), _scaled(value)
    norms = math.sqrt(np.dot(a, a) * np.dot(b, b))
    return float(np.dot(a, b)) / norms if norms else float(not a.any() and not b.any())


def _scaled(x):
    """Keep the squares of the finite elements from overflow and underflow; tiny gradients are common."""
    largest = float(np.max(np.abs(x)))
    if not math.isfinite(largest):
        x = np.where(np.isfinite(x), x, 0)
        largest = float(np.max(np.abs(x)))
    return x if 1e-100 < largest < 1e100 or largest == 0 else x / largest
