"""Rounding policies: where a legal implementation in a given dtype may round, and by how much."""

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Policy:
    """The rounding that an implementation in one dtype is allowed.

    Attributes
    ----------
    dtype : numpy.dtype
        The dtype of stored values and of product operands.
    store : float
        Variance of storing a value, relative to its square: a rounding error is uniform in [-u, u], so u²/3.
    accumulate : float
        The same for one addition inside a sum or product; 16-bit dtypes accumulate in float32.
    subnormal : float
        Absolute variance of storing: a twelfth of the square of the smallest subnormal.
    """

    dtype: np.dtype
    store: float
    accumulate: float
    subnormal: float


def _policy(dtype, accumulator=None):
    info = ml_dtypes.finfo(dtype)
    unit = float(info.eps) / 2
    accumulation_unit = float(ml_dtypes.finfo(accumulator or dtype).eps) / 2
    # Scaled in extended precision: the square of float64's smallest subnormal is below float64's range.
    quantum = np.longdouble(info.smallest_subnormal)
    return Policy(np.dtype(dtype), unit**2 / 3, accumulation_unit**2 / 3, quantum**2 / 12)


POLICIES = {
    policy.dtype: policy
    for policy in (
        _policy(np.float64),
        _policy(np.float32),
        _policy(np.float16, np.float32),
        _policy(ml_dtypes.bfloat16, np.float32),
    )
}

_sums_in_storage = ContextVar("sums_in_storage", default=False)
_coarse_erf = ContextVar("coarse_erf", default=False)


@contextmanager
def sums_kept_in_storage():
    """Declare, for a while, that sums and statistics of 16-bit numbers are kept in 16 bits, as some kernels do.

    What the text widens to float32 stays narrow, and every addition rounds to 16 bits.

    Yields
    ------
    None
        The declaration ends with the block.
    """
    token = _sums_in_storage.set(True)
    try:
        yield
    finally:
        _sums_in_storage.reset(token)


def widens():
    """Tell whether 16-bit numbers may be widened to float32 on the way.

    Returns
    -------
    bool
        False while `sums_kept_in_storage` is declared.
    """
    return not _sums_in_storage.get()


@contextmanager
def erf_by_polynomial():
    """Declare, for a while, that erf is evaluated by a polynomial that is coarser than float32.

    Yields
    ------
    None
        The declaration ends with the block.
    """
    token = _coarse_erf.set(True)
    try:
        yield
    finally:
        _coarse_erf.reset(token)


def erf_variance():
    """Tell what the evaluation of erf adds to its variance, beside the rounding of its value.

    Returns
    -------
    float
        0, or what `erf_by_polynomial` declares: an error that is uniform in [-2^-21, 2^-21].  The GELU of PyTorch 2.13
        on the CPU (oneDNN's, and ATen's by Abramowitz & Stegun 7.1.26) has an erf whose error has a standard deviation
        of 2e-7 and a maximum of 7e-7; `torch.erf` itself rounds correctly but for 4 %.
    """
    return 2.0**-42 / 3 if _coarse_erf.get() else 0.0


def policy_for(dtype):
    """Look up the policy of a dtype.

    Parameters
    ----------
    dtype : dtype
        One of float64, float32, float16, bfloat16.

    Returns
    -------
    Policy
        Its rounding policy.

    Raises
    ------
    ValueError
        For a dtype without one.
    """
    try:
        policy = POLICIES[np.dtype(dtype)]
    except KeyError:
        known = ", ".join(d.name for d in POLICIES)
        raise ValueError(f"dtype must be one of {known}, got {dtype}") from None
    return replace(policy, accumulate=policy.store) if _sums_in_storage.get() else policy
