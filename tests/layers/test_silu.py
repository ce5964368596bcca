import numpy as np
import pytest

from refimpl.layers.silu import silu

EPS = np.finfo(np.float64).eps


def test_by_hand():
    y, pullback = silu(np.array([0.0, np.log(3.0)]))
    # sigmoid(ln 3) = 3/4; the slope is 3/4 (1 + ln 3 / 4).
    assert y[0] == 0.0
    assert abs(y[1] - 0.75 * np.log(3.0)) <= 4 * EPS
    dx = pullback(np.array([2.0, 4.0]))[0]
    assert dx[0] == 1.0
    assert abs(dx[1] - 3.0 * (1.0 + np.log(3.0) / 4.0)) <= 16 * EPS


def test_far_from_0():
    with np.errstate(all="raise", under="ignore"):
        y, pullback = silu(np.array([-800.0, 800.0]))
        dx = pullback(np.ones(2))[0]
    assert abs(y[0]) < 1e-300
    assert y[1] == 800.0
    assert abs(dx[0]) < 1e-300
    assert dx[1] == 1.0


def test_the_smallest_value():
    """-0.27846 at -1.27846, where x = -1 - exp(x)."""
    x = np.linspace(-3.0, 1.0, 400_001)
    y = silu(x)[0]
    assert f"{y.min():.5f} {x[np.argmin(y)]:.4f}" == "-0.27846 -1.2785"


def test_bad_input():
    with pytest.raises(TypeError, match="x must be a floating array, got dtype int64"):
        silu(np.ones(3, np.int64))
