import math

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.layers.gelu import gelu, gelu_tanh

BOTH = pytest.mark.parametrize("f", [gelu, gelu_tanh])


@BOTH
def test_by_hand(f):
    y, pullback = f(np.array([0.0, 40.0, -40.0]))
    np.testing.assert_array_equal(y, [0, 40, 0])
    np.testing.assert_array_equal(pullback(np.array([2.0, 2.0, 2.0]))[0], [1, 2, 0])


def test_the_value_at_1_is_that_of_the_normal_distribution():
    """Phi(1) = 0.841344746068543 (Abramowitz & Stegun, table 26.1), in its 15 digits."""
    assert abs(gelu(np.array(1.0))[0] - 0.841344746068543) < 0.5e-15 + np.finfo(np.float64).eps
    # 0.5 (1 + tanh(sqrt(2 / pi) 1.044715)), with Python's own tanh.
    assert gelu_tanh(np.array(1.0))[0] == 0.5 * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * 1.044715))


@BOTH
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_gradient_survives_where_the_square_overflows(f, dtype):
    _, pullback = f(narrow(np.array([300.0, -300.0, 6e4, -6e4]), dtype))
    np.testing.assert_array_equal(pullback(narrow(np.ones(4), dtype))[0], [1, 0, 1, 0])


@BOTH
def test_nan_stays_nan(f):
    y, pullback = f(np.array([math.nan]))
    assert np.isnan(y[0])
    assert np.isnan(pullback(np.ones(1))[0][0])


@BOTH
def test_bad_input(f):
    with pytest.raises(TypeError, match="x must be a floating array, got dtype int64"):
        f(np.array([1, 2]))
    with pytest.raises(TypeError, match="expected an array, got"):
        f(1.0)
