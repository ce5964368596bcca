"""The tolerance itself: what it lets through, and what it does not."""

import math

import numpy as np
import pytest

from refimpl.layers.tanh import tanh
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, assert_close, spread_run

WANT = np.array([1.0, -2.0, 0.0, math.inf, math.nan])
SIGMA = np.array([1e-3, 1e-3, 0.0, 0.0, 0.0])


def test_ten_sigma_are_allowed():
    assert_close(WANT + 9.9 * SIGMA, WANT, SIGMA, name="y", n_rounded=1)
    assert_close(WANT + 14.0 * SIGMA, WANT, SIGMA, name="y", n_rounded=2)


@pytest.mark.parametrize(
    "got",
    [
        np.add(WANT, [0, 0.0101, 0, 0, 0]),
        np.add(WANT, [0, 0, 1e-300, 0, 0]),
        np.array([1.0, -2.0, 0.0, -math.inf, math.nan]),
        np.array([1.0, -2.0, 0.0, 0.0, math.nan]),
        np.array([1.0, -2.0, 0.0, math.inf, 0.0]),
        np.array([1.0, -2.0, math.nan, math.inf, math.nan]),
        WANT[:4],
        np.zeros(5),
        WANT[None],
    ],
)
def test_everything_else_is_not(got):
    with pytest.raises(AssertionError, match="y"):
        assert_close(got, WANT, SIGMA, name="y", n_rounded=1)


def test_a_missing_result_is_not():
    with pytest.raises(AssertionError, match="expected"):
        assert_all_close({}, {"x": WANT}, {})


def test_the_message_names_the_worst_element():
    with pytest.raises(AssertionError, match=r"dx\[1, 0\]: got 5.*, want 3.*, off by 2 where 0.001 is allowed"):
        assert_close(np.array([[1.0], [5.0]]), np.array([[1.0], [3.0]]), np.full((2, 1), 1e-4), name="dx", n_rounded=1)


def test_sigma_does_not_vanish_with_the_square_of_a_tiny_number():
    spreads, _ = spread_run(component_of(tanh), Call({"x": np.array([1e-200])}, None, {}))
    # One storing: the unit roundoff over the root of 3, relative to the value.
    assert 0.5e-16 * 1e-200 < spreads["y"].sigma[0] < 1e-16 * 1e-200
