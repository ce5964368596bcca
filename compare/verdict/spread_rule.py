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
    got = candidate.astype(value.dtype)
    finite = np.isfinite(value) & np.isfinite(got)
    # Infinities must be the same infinity, NaN must be NaN: an inf in the truth must not let zeros through.
    agree = finite | (got == value) | (np.isnan(got) & np.isnan(value))
    with np.errstate(all="ignore"):
        error = np.where(finite, np.abs(got - value), np.where(agree, 0, np.inf))
        sigma = np.asarray(truth.sigma) * (math.sqrt(2.0) if rounded_truth else 1.0)
        # A tolerance without bound would let anything through.
        in_sigma = np.where(error == 0, 0, np.where(np.isinf(sigma), np.inf, error / sigma)).astype(np.float64)
    return _figures(candidate, "", softened) | _error_figures(got, value, error, in_sigma, candidate.dtype)


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
    largest = float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value)))
    abs_max = float(error.max())
    passed = sigma_max <= LIMIT
    where = f"[{', '.join(str(int(i)) for i in worst)}]"
    with np.errstate(all="ignore"):
        ulp_max = float(np.max(np.where(error == 0, 0, error / _ulp(value, dtype))))
        min_tolerance = float(np.max(np.where(error == 0, 0, error / (1 + np.abs(value)))))
    return {
        "passed": passed,
        "reason": "" if passed else f"element {where} is {sigma_max:.3g} sigma from the truth, more than {LIMIT:g}",
        "sigma_max": sigma_max,
        "sigma_q999": float(np.quantile(in_sigma, 0.999, method="higher")),
        "ulp_max": ulp_max,
        "abs_max": abs_max,
        "rel_max": abs_max / largest if largest else (0.0 if abs_max == 0 else math.inf),
        "cosine": _cosine(got, value),
        "worst_index": [int(i) for i in worst],
        "worst_value": float(got[worst]),
        "worst_truth": float(value[worst]),
        "min_tolerance": min_tolerance,
    }


def _ulp(value, dtype):
    info = ml_dtypes.finfo(dtype)
    _, exponent = np.frexp(np.maximum(np.abs(value), float(info.smallest_normal)))
    return np.ldexp(float(info.eps), exponent - 1)


def _cosine(got, value):
    kept = np.isfinite(got) & np.isfinite(value)
    # Scaled first: the squares of tiny gradients would underflow.
    a, b = (_scaled(np.where(kept, x, 0)) for x in (got, value))
    norms = math.sqrt(np.dot(a, a) * np.dot(b, b))
    return float(np.dot(a, b)) / norms if norms else float(not a.any() and not b.any())


def _scaled(x):
    return (x / (np.max(np.abs(x)) or 1)).astype(np.float64).ravel()
