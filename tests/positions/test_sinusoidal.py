import math

import numpy as np
import pytest

from refimpl.positions.sinusoidal import sinusoidal_positions

EPS = np.finfo(np.float64).eps


def table(n_seq, d_model, **settings):
    return sinusoidal_positions(np.zeros((n_seq, d_model)), **settings)[0]


def test_by_hand():
    """Four features with base 100: frequencies 1 and 1/10."""
    want = [[math.sin(p), math.cos(p), math.sin(p / 10), math.cos(p / 10)] for p in range(3)]
    assert np.all(np.abs(table(3, 4, base=100.0) - want) <= 2 * EPS)


@pytest.mark.parametrize("d_model", [1, 5, 7, 8])
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_a_plain_loop(d_model, layout):
    got = table(9, d_model, layout=layout, offset=2)
    n_sine = (d_model + 1) // 2
    for p in range(9):
        for i in range(n_sine):
            angle = (p + 2) * 10000.0 ** (-2 * i / d_model)
            sine, cosine = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, n_sine + i)
            assert abs(got[p, sine] - math.sin(angle)) <= 16 * EPS * (1 + angle)
            if 2 * i + 1 < d_model:
                assert abs(got[p, cosine] - math.cos(angle)) <= 16 * EPS * (1 + angle)


def test_the_table_is_added_and_the_gradient_passes():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    y, pullback = sinusoidal_positions(x)
    np.testing.assert_array_equal(y, x + table(3, 4))
    np.testing.assert_array_equal(pullback(x)[0], x)


def test_positions_may_be_given():
    positions = np.array([[3, 3, 0], [0, 1, 2]])
    y, _ = sinusoidal_positions(np.zeros((2, 3, 5)), positions=positions)
    np.testing.assert_array_equal(y, table(4, 5)[positions])


def test_nothing():
    y, pullback = sinusoidal_positions(np.ones((2, 0, 4)))
    assert y.shape == (2, 0, 4)
    assert pullback(y)[0].shape == (2, 0, 4)


@pytest.mark.parametrize(
    ("x", "settings", "error", "message"),
    [
        (np.ones(4), {}, ValueError, "x must have at least 2 axes"),
        (np.ones((3, 4)), {"base": 0.5}, ValueError, "base must be greater than 1, got 0.5"),
        (np.ones((3, 4)), {"layout": "half"}, ValueError, "layout must be one of interleaved, .*got 'half'"),
        (np.ones((3, 4)), {"offset": -2}, ValueError, "offset must be at least 0, got -2"),
        (np.ones((3, 4)), {"positions": np.arange(4)}, ValueError, r"positions must broadcast to \(3,\), got \(4,\)"),
        (np.ones((3, 4), np.int64), {}, TypeError, "x must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(x, settings, error, message):
    with pytest.raises(error, match=message):
        sinusoidal_positions(x, **settings)
