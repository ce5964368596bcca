import math

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.positions.rotary import rotary
from refimpl.positions.rotary_scaling import DynamicNtkScaling, LinearScaling, YarnScaling
from tests.positions.turning import turned

EPS = np.finfo(np.float64).eps


def test_by_hand():
    """Two pairs with base 100: the first turns by 1 radian a position, the second by 1/10."""
    x = np.tile(np.array([1.0, 1.0, 0.0, 0.0]), (3, 1))
    y, pullback = rotary(x, base=100.0)
    for p in range(3):
        want = [math.cos(p), math.cos(p / 10), math.sin(p), math.sin(p / 10)]
        assert np.all(np.abs(y[p] - want) <= 4 * EPS)
    np.testing.assert_array_equal(y[0], x[0])
    dx = pullback(y)[0]
    assert np.all(np.abs(dx - x) <= 8 * EPS)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("d_rotary", [2, 4, 6])
def test_a_plain_loop_over_complex_numbers(layout, d_rotary):
    x = np.random.default_rng(0).normal(size=(2, 5, 7))
    y, _ = rotary(x, d_rotary=d_rotary, layout=layout, offset=3)
    assert np.all(np.abs(y - turned(x, d_rotary, layout, offset=3)) <= 64 * EPS)
    np.testing.assert_array_equal(y[..., d_rotary:], x[..., d_rotary:])


def test_positions_of_every_row():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 6))
    positions = np.array([[0, 0, 0, 1], [0, 1, 2, 3]])
    y, pullback = rotary(x, positions=positions[:, None, :])
    dx = pullback(y)[0]
    for row, ids in enumerate(positions):
        for t, position in enumerate(ids):
            alone, alone_pullback = rotary(x[row, :, t : t + 1], offset=int(position))
            np.testing.assert_array_equal(y[row, :, t : t + 1], alone)
            np.testing.assert_array_equal(dx[row, :, t : t + 1], alone_pullback(alone)[0])


def test_the_length_for_dynamic_scaling_counts_the_past():
    x = np.ones((1, 4))
    scaling = DynamicNtkScaling(2.0, 4)
    last, _ = rotary(x, offset=9, scaling=scaling)
    whole, _ = rotary(np.ones((10, 4)), scaling=scaling)
    np.testing.assert_array_equal(last, whole[9:])
    given, _ = rotary(np.ones((2, 4)), positions=np.array([0, 9]), scaling=scaling)
    np.testing.assert_array_equal(given, whole[[0, 9]])


def test_linear_scaling_squeezes_positions():
    x = np.random.default_rng(0).normal(size=(3, 6))
    squeezed, _ = rotary(x, positions=np.array([0, 4, 8]), scaling=LinearScaling(4.0))
    np.testing.assert_array_equal(squeezed, rotary(x)[0])


def test_the_attention_factor_stretches_forward_and_backward():
    x = np.random.default_rng(0).normal(size=(3, 6))
    y, pullback = rotary(x, scaling=YarnScaling(4.0, 64, attention_factor=2.0))
    plain, plain_pullback = rotary(x, scaling=YarnScaling(4.0, 64, attention_factor=1.0))
    np.testing.assert_array_equal(y, 2.0 * plain)
    np.testing.assert_array_equal(pullback(x)[0], 2.0 * plain_pullback(x)[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_angles_are_at_least_float32(dtype):
    """At position 4095 the angle of the first pair is right to 2^-13, half a unit of 4095 in float32."""
    one = np.array([[1.0, 0.0]])
    x = one.astype(dtype) if dtype == "float32" else narrow(one, dtype)
    y = rotary(x, offset=4095)[0].astype(np.float64)
    storage = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}[dtype]
    assert np.all(np.abs(y - [math.cos(4095), math.sin(4095)]) <= 2.0**-12 + 2 * storage)


def test_nothing():
    y, pullback = rotary(np.ones((2, 0, 4)))
    assert y.shape == (2, 0, 4)
    assert pullback(y)[0].shape == (2, 0, 4)


X = np.ones((2, 3, 8))


@pytest.mark.parametrize(
    ("x", "settings", "error", "message"),
    [
        (np.ones(8), {}, ValueError, "x must have at least 2 axes"),
        (np.ones((3, 7)), {}, ValueError, "d_rotary must be even, at least 2 and at most 7, .*got 7"),
        (X, {"d_rotary": 10}, ValueError, "d_rotary must be even, at least 2 and at most 8, .*got 10"),
        (X, {"d_rotary": 0}, ValueError, "d_rotary must be even.*got 0"),
        (X, {"base": 1.0}, ValueError, "base must be greater than 1, got 1.0"),
        (X, {"offset": -1}, ValueError, "offset must be at least 0, got -1"),
        (X, {"layout": "neox"}, ValueError, "layout must be one of half, interleaved, got 'neox'"),
        (X, {"positions": np.ones(3)}, TypeError, "positions must be an integer array, got dtype float64"),
        (X, {"positions": np.array([0, 1, -1])}, ValueError, r"positions must lie in \[0, .*got values from -1 to 1"),
        (X, {"positions": np.arange(4)}, ValueError, r"positions must broadcast to \(2, 3\), got \(4,\)"),
        (X, {"positions": np.arange(3), "offset": 1}, ValueError, "offset must be 0 where there are positions, got 1"),
        (X.astype(int), {}, TypeError, "x must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(x, settings, error, message):
    with pytest.raises(error, match=message):
        rotary(x, **settings)
