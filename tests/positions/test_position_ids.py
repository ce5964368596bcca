import numpy as np
import pytest

from refimpl.positions.position_ids import FARTHEST, position_ids

X = np.ones((2, 3, 4))


def test_they_count_from_the_offset():
    np.testing.assert_array_equal(position_ids(X, None, 5), [5, 6, 7])


def test_they_may_be_given():
    given = np.array([[2], [0]])
    assert position_ids(X, given, 0) is given


@pytest.mark.parametrize("positions", [np.array([0, 1, FARTHEST]), np.array([-1, 0, 1])])
def test_they_are_no_negative_and_no_giant_numbers(positions):
    with pytest.raises(ValueError, match=rf"positions must lie in \[0, {FARTHEST}\)"):
        position_ids(X, positions, 0)
