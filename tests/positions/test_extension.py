import numpy as np
import pytest

from refimpl.positions.extension import extend_by_interpolation, extend_by_mean, extend_by_tiling

WEIGHT = np.array([[0.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
ALL = (extend_by_mean, extend_by_tiling, extend_by_interpolation)


def test_mean_by_hand():
    y, pullback = extend_by_mean(WEIGHT, n_position=5)
    np.testing.assert_array_equal(y, [*WEIGHT, [2, 20], [2, 20]])
    dy = np.array([[1.0], [2.0], [3.0], [6.0], [9.0]]) * [1.0, 0.0]
    np.testing.assert_array_equal(pullback(dy)[0][:, 0], [1 + 5, 2 + 5, 3 + 5])


def test_tiling_by_hand():
    y, pullback = extend_by_tiling(WEIGHT, n_position=7)
    np.testing.assert_array_equal(y, WEIGHT[[0, 1, 2, 0, 1, 2, 0]])
    dy = 2.0 ** np.arange(7.0)[:, None] * [1.0, 0.0]
    np.testing.assert_array_equal(pullback(dy)[0][:, 0], [1 + 8 + 64, 2 + 16, 4 + 32])


def test_interpolation_by_hand():
    y, pullback = extend_by_interpolation(WEIGHT, n_position=5)
    np.testing.assert_array_equal(y, [[0, 10], [1, 20], [2, 30], [3, 25], [4, 20]])
    dy = 2.0 ** np.arange(5.0)[:, None] * [1.0, 0.0]
    np.testing.assert_array_equal(pullback(dy)[0][:, 0], [1 + 1, 1 + 4 + 4, 4 + 16])


def test_interpolation_of_cells_by_hand():
    """Cells twice as many: centres at -1/4, 1/4, 3/4, ..., clipped at the ends."""
    y, _ = extend_by_interpolation(WEIGHT, n_position=6, align="cells")
    np.testing.assert_array_equal(y[:, 0], [0, 0.5, 1.5, 2.5, 3.5, 4])


@pytest.mark.parametrize("extend", ALL)
def test_as_many_as_before(extend):
    y, pullback = extend(WEIGHT, n_position=3)
    np.testing.assert_array_equal(y, WEIGHT)
    np.testing.assert_array_equal(pullback(WEIGHT)[0], WEIGHT)
    assert not np.shares_memory(y, WEIGHT)


@pytest.mark.parametrize("extend", ALL)
def test_one_position_becomes_many(extend):
    y, pullback = extend(WEIGHT[:1], n_position=4)
    np.testing.assert_array_equal(y, np.tile(WEIGHT[:1], (4, 1)))
    np.testing.assert_array_equal(pullback(np.ones((4, 2)))[0], [[4, 4]])


@pytest.mark.parametrize("extend", ALL)
@pytest.mark.parametrize(
    ("weight", "n_position", "error", "message"),
    [
        (WEIGHT, 2, ValueError, "n_position must be at least 3, the learned ones, got 2"),
        (np.ones((0, 2)), 2, ValueError, "n_learned must be at least 1, got 0"),
        (np.ones(3), 4, ValueError, r"weight must have shape \(any, any\), got \(3,\)"),
        (np.ones((3, 2), np.int64), 4, TypeError, "weight must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(extend, weight, n_position, error, message):
    with pytest.raises(error, match=message):
        extend(weight, n_position=n_position)


def test_a_bad_alignment():
    with pytest.raises(ValueError, match="align must be ends or cells, got 'corners'"):
        extend_by_interpolation(WEIGHT, n_position=4, align="corners")
