import numpy as np
import pytest

from refimpl.positions.learned import learned_positions

PARAMS = {"weight": np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])}


def test_by_hand():
    y, pullback = learned_positions(np.ones((2, 2, 2)), PARAMS)
    np.testing.assert_array_equal(y, [[[2, 3], [11, 21]]] * 2)
    dy = np.arange(8.0).reshape(2, 2, 2)
    dx, dparams = pullback(dy)
    np.testing.assert_array_equal(dx, dy)
    np.testing.assert_array_equal(dparams["weight"], [[4, 6], [8, 10], [0, 0]])


def test_offset():
    y, pullback = learned_positions(np.ones((1, 2)), PARAMS, offset=2)
    np.testing.assert_array_equal(y, [[101, 201]])
    np.testing.assert_array_equal(pullback(y)[1]["weight"], [[0, 0], [0, 0], [101, 201]])


def test_no_positions():
    y, pullback = learned_positions(np.ones((3, 0, 2)), PARAMS)
    assert y.shape == (3, 0, 2)
    np.testing.assert_array_equal(pullback(y)[1]["weight"], np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("x", "settings", "error", "message"),
    [
        (np.ones((4, 2)), {}, ValueError, r"offset \+ n_seq must be at most 3, the number of positions, got 4"),
        (np.ones((2, 2)), {"offset": 2}, ValueError, r"offset \+ n_seq must be at most 3.*got 4"),
        (np.ones((2, 2)), {"offset": -1}, ValueError, "offset must be at least 0, got -1"),
        (np.ones(2), {}, ValueError, r"x must have at least 2 axes, got shape \(2,\)"),
        (np.ones((1, 3)), {}, ValueError, r"weight must have shape \(any, 3\), got \(3, 2\)"),
        (np.ones((1, 2), np.float32), {}, TypeError, "weight.*dtype of x, float32, got float64"),
    ],
)
def test_bad_input(x, settings, error, message):
    with pytest.raises(error, match=message):
        learned_positions(x, PARAMS, **settings)


def test_an_unknown_parameter():
    with pytest.raises(ValueError, match="params must have the keys weight, got table"):
        learned_positions(np.ones((1, 2)), {"table": PARAMS["weight"]})
