import math

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.layers.rms_norm import rms_norm

EPS = np.finfo(np.float64).eps


def test_by_hand():
    """The root of (9 + 1 + 1 + 25) / 4 is 3."""
    x = np.array([[3.0, -1.0, 1.0, 5.0]])
    params = {"weight": np.array([1.0, 3.0, 6.0, 9.0])}
    y, pullback = rms_norm(x, params, eps=0.0)
    assert np.all(np.abs(y - [[1, -1, 2, 15]]) <= 4 * EPS * np.abs(y))
    dx, dparams = pullback(np.array([[0.0, 3.0, 0.0, 0.0]]))
    # g = (0, 9, 0, 0); its mean with x_hat = (3, -1, 1, 5) / 3 is -3 / 4.
    want = (np.array([[0.0, 9.0, 0.0, 0.0]]) + x / 4) / 3
    assert np.all(np.abs(dx - want) <= 8 * EPS * np.abs(want))
    assert np.all(np.abs(dparams["weight"] - [0, -1, 0, 0]) <= 4 * EPS)


def test_eps_lies_inside_the_root():
    np.testing.assert_array_equal(rms_norm(np.array([1.0, -1.0]), {}, eps=3.0)[0], [0.5, -0.5])


def test_the_mean_stays():
    np.testing.assert_array_equal(rms_norm(np.array([4.0, 4.0]), {}, eps=0.0)[0], [1, 1])


def test_the_offset_is_added_to_the_weight():
    x, weight = np.array([2.0, -2.0]), np.array([0.25, -0.5])
    y, pullback = rms_norm(x, {"weight": weight}, eps=0.0, weight_offset=1.0)
    np.testing.assert_array_equal(y, [1.25, -0.5])
    # d (weight + 1) = d weight
    np.testing.assert_array_equal(pullback(np.array([1.0, 1.0]))[1]["weight"], [1, -1])


def test_zeros_stay_zeros():
    y, pullback = rms_norm(np.zeros((2, 3)), {})
    np.testing.assert_array_equal(y, np.zeros((2, 3)))
    assert np.all(np.isfinite(pullback(np.ones((2, 3)))[0]))


def test_nothing_to_normalise():
    y, pullback = rms_norm(np.ones((0, 3)), {"weight": np.ones(3)})
    assert y.shape == (0, 3)
    np.testing.assert_array_equal(pullback(y)[1]["weight"], np.zeros(3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_do_not_overflow(dtype):
    """In float16 the square of 300 is inf."""
    x = narrow(np.array([[300.0, -300.0]]), dtype)
    y, pullback = rms_norm(x, {})
    np.testing.assert_array_equal(y, [[1, -1]])
    assert np.all(np.isfinite(pullback(y)[0]))


def test_the_order_decides_where_16_bits_round():
    """x_hat is 1.0078 and 0.9922 (8 bits hold both) times 1 + 2^-7: one rounding or two."""
    x = narrow(np.linspace(0.1, 2.0, 64), "bfloat16")
    params = {"weight": narrow(np.full(64, 1.0 + 2.0**-7), "bfloat16")}
    last, first = (rms_norm(x, params, order=order)[0] for order in ("scale first", "cast first"))
    exact = rms_norm(x.astype(np.float64), {"weight": params["weight"].astype(np.float64)})[0]
    spacing = 2.0**-7 * np.exp2(np.floor(np.log2(exact)))
    assert np.all(np.abs(last.astype(np.float64) - exact) <= 0.51 * spacing)  # half a unit and what float32 adds
    assert np.any(np.abs(first.astype(np.float64) - exact) > 0.51 * spacing)
    plain = rms_norm(x, {})[0]
    np.testing.assert_array_equal(first, plain * params["weight"])


@pytest.mark.parametrize(
    ("x", "params", "settings", "error", "message"),
    [
        (np.ones((2, 16)), {"weight": np.ones(32)}, {}, ValueError, r"weight must have shape \(16,\), got \(32,\)"),
        (np.ones((2, 0)), {}, {}, ValueError, "d_model must be at least 1.*got 0"),
        (np.array(1.0), {}, {}, ValueError, "x must have at least 1 axes"),
        (np.ones(3), {}, {"eps": -1.0}, ValueError, "eps must be at least 0, got -1.0"),
        (np.ones(3), {}, {"eps": math.nan}, ValueError, "eps must be at least 0, got nan"),
        (np.ones(3), {}, {"order": "cast"}, ValueError, "order must be one of scale first, cast first, got 'cast'"),
        (np.ones(3), {"bias": np.ones(3)}, {}, ValueError, "params must have the keys weight.*got bias"),
        (np.ones(3), None, {}, TypeError, "params must be a dict of arrays, got NoneType"),
        (np.ones(3), {"weight": np.ones(3, np.float32)}, {}, TypeError, "weight.*dtype of x, float64, got float32"),
        (np.ones(3, int), {}, {}, TypeError, "x must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(x, params, settings, error, message):
    with pytest.raises(error, match=message):
        rms_norm(x, params, **settings)
