import math

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.layers.layer_norm import layer_norm


def test_by_hand():
    """Mean 0, variance 4, so that x_hat is x / 2 but for eps, which is 0."""
    x = np.array([[2.0, -2.0, 2.0, -2.0]])
    params = {"weight": np.array([1.0, 2.0, 3.0, 4.0]), "bias": np.array([0.0, 0.0, 10.0, 0.0])}
    y, pullback = layer_norm(x, params, eps=0.0)
    np.testing.assert_array_equal(y, [[1, -2, 13, -4]])
    dy = np.array([[1.0, 0.0, 0.0, 1.0]])
    dx, dparams = pullback(dy)
    np.testing.assert_array_equal(dparams["weight"], [1, 0, 0, -1])
    np.testing.assert_array_equal(dparams["bias"], [1, 0, 0, 1])
    # g = [1, 0, 0, 4]: mean 1.25, mean of g x_hat -0.75.
    np.testing.assert_array_equal(dx, np.array([[1 - 1.25 + 0.75, -1.25 - 0.75, -1.25 + 0.75, 4 - 1.25 - 0.75]]) / 2)


def test_eps_lies_inside_the_root():
    y, _ = layer_norm(np.array([1.0, -1.0]), {}, eps=3.0)
    np.testing.assert_array_equal(y, [0.5, -0.5])


def test_a_constant_becomes_the_bias():
    x = np.full((2, 3), 1e4)
    y, pullback = layer_norm(x, {"bias": np.array([1.0, 2.0, 3.0])})
    np.testing.assert_array_equal(y, [[1, 2, 3], [1, 2, 3]])
    assert np.all(np.isfinite(pullback(np.ones((2, 3)))[0]))


def test_one_feature_is_its_own_mean():
    y, pullback = layer_norm(np.array([[5.0], [7.0]]), {})
    np.testing.assert_array_equal(y, [[0], [0]])
    np.testing.assert_array_equal(pullback(np.ones((2, 1)))[0], [[0], [0]])


def test_nothing_to_normalise():
    y, pullback = layer_norm(np.ones((0, 3)), {"weight": np.ones(3)})
    assert y.shape == (0, 3)
    np.testing.assert_array_equal(pullback(y)[1]["weight"], np.zeros(3))


@pytest.mark.parametrize(
    ("x", "params", "settings", "error", "message"),
    [
        (np.ones((2, 16)), {"weight": np.ones(32)}, {}, ValueError, r"weight must have shape \(16,\), got \(32,\)"),
        (np.ones((2, 16)), {"bias": np.ones(1)}, {}, ValueError, r"bias must have shape \(16,\), got \(1,\)"),
        (np.ones((2, 0)), {}, {}, ValueError, "d_model must be at least 1.*got 0"),
        (np.array(1.0), {}, {}, ValueError, "x must have at least 1 axes"),
        (np.ones(3), {}, {"eps": -1.0}, ValueError, "eps must be at least 0, got -1.0"),
        (np.ones(3), {}, {"eps": math.nan}, ValueError, "eps must be at least 0, got nan"),
        (np.ones(3), {"gamma": np.ones(3)}, {}, ValueError, "params must have the keys .*got gamma"),
        (np.ones(3), None, {}, TypeError, "params must be a dict of arrays, got NoneType"),
        (np.ones(3), {"weight": np.ones(3, np.float32)}, {}, TypeError, "weight.*dtype of x, float64, got float32"),
        (np.ones(3, bool), {}, {}, TypeError, "x must be a floating array, got dtype bool"),
    ],
)
def test_bad_input(x, params, settings, error, message):
    with pytest.raises(error, match=message):
        layer_norm(x, params, **settings)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_neither_lose_the_eps_nor_overflow(dtype):
    """In float16 1e-12 is 0, the inverse deviation 1e6 is inf, and so is the square of 300."""
    x = narrow(np.array([[5.0, 5.0], [300.0, -300.0]]), dtype)
    y, pullback = layer_norm(x, {}, eps=1e-12)
    np.testing.assert_array_equal(y, [[0, 0], [1, -1]])
    (dx, _) = pullback(narrow(np.array([[0.0, 0.0], [1.0, 0.5]]), dtype))
    np.testing.assert_array_equal(dx[0], [0, 0])
    assert np.all(np.isfinite(dx))
