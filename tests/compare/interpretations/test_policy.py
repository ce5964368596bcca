"""The policies hold the unit roundoffs of the dtypes."""

import ml_dtypes
import numpy as np
import pytest

from compare.interpretations.policy import POLICIES, policy_for, sums_kept_in_storage
from compare.interpretations.spread import spread


@pytest.mark.parametrize(
    ("dtype", "unit", "accumulation_unit"),
    [
        (np.float64, 2.0**-53, 2.0**-53),
        (np.float32, 2.0**-24, 2.0**-24),
        (np.float16, 2.0**-11, 2.0**-24),
        (ml_dtypes.bfloat16, 2.0**-8, 2.0**-24),
    ],
)
def test_rounding_is_uniform_in_one_unit(dtype, unit, accumulation_unit):
    policy = policy_for(dtype)
    assert policy.store == unit**2 / 3
    assert policy.accumulate == accumulation_unit**2 / 3


@pytest.mark.parametrize("dtype", POLICIES)
def test_storing_errors_really_have_this_variance(dtype):
    # Over one binade relative errors are at most u; averaged over it their variance is 3/8 to 3/4 of u²/3.
    if dtype == np.float64:
        return  # nothing finer than float64 is drawn here
    x = np.random.default_rng(0).uniform(1, 2, 200_000)
    relative = (x.astype(dtype).astype(np.float64) - x) / x
    assert 3 / 8 < np.mean(relative**2) / policy_for(dtype).store < 3 / 4


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_subnormal_numbers_lie_a_quantum_apart(dtype):
    quantum = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    assert float(np.asarray(quantum, dtype)) == quantum
    assert float(np.asarray(quantum / 2.001, dtype)) == 0
    # The square of float32's quantum is still a float64 number; a uniform error of one quantum has a twelfth.
    assert float(policy_for(dtype).subnormal) == quantum**2 / 12


def test_a_dtype_without_policy_is_refused():
    with pytest.raises(ValueError, match="dtype must be one of float64, float32, float16, bfloat16, got"):
        policy_for(np.int64)


def test_declared_storage_keeps_narrow_what_the_text_widens():
    exact = spread(np.array([3.0]), np.float16)
    assert exact.astype(np.float32).dtype == np.float32
    with sums_kept_in_storage():
        assert exact.astype(np.float32).dtype == np.float16
        assert spread(np.array([3.0]), np.float32).astype(np.float64).dtype == np.float64
