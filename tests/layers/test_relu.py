import math

import numpy as np
import pytest

from refimpl.layers.relu import relu


def test_by_hand():
    y, pullback = relu(np.array([-2.0, 3.0, math.inf, -math.inf]))
    np.testing.assert_array_equal(y, [0, 3, math.inf, 0])
    np.testing.assert_array_equal(pullback(np.array([5.0, 6.0, 7.0, 8.0]))[0], [0, 6, 7, 0])


def test_the_derivative_at_the_kink_is_0():
    """As in PyTorch, for the negative zero too."""
    y, pullback = relu(np.array([0.0, -0.0]))
    np.testing.assert_array_equal(y, [0, 0])
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [0, 0])


def test_nan_stays_nan():
    assert np.isnan(relu(np.array([math.nan]))[0][0])


def test_bad_input():
    with pytest.raises(TypeError, match="x must be a floating array, got dtype bool"):
        relu(np.array([True]))
