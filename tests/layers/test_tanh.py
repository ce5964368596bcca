import math

import numpy as np
import pytest

from refimpl.layers.tanh import tanh


def test_by_hand():
    y, pullback = tanh(np.array([0.0, 1e4, -math.inf]))
    np.testing.assert_array_equal(y, [0, 1, -1])
    np.testing.assert_array_equal(pullback(np.array([3.0, 3.0, 3.0]))[0], [3, 0, 0])


def test_bad_input():
    with pytest.raises(TypeError, match="x must be a floating array, got dtype int64"):
        tanh(np.array([1]))
