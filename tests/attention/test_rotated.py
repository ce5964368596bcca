import numpy as np
import pytest

from refimpl.attention.rotated import rotated
from refimpl.positions.rotary import rotary

HEADS = np.random.default_rng(0).standard_normal((2, 3, 4, 6))
POSITIONS = np.array([[0, 1, 2, 3], [0, 0, 0, 1]])


def test_no_rotation_leaves_heads_as_they_are():
    y, pullback = rotated(HEADS, positions=POSITIONS)
    assert y is HEADS
    assert pullback(HEADS) == (HEADS,)


def test_all_heads_of_a_row_have_its_positions():
    y, pullback = rotated(HEADS, rotate=rotary, positions=POSITIONS)
    for row, positions in enumerate(POSITIONS):
        want, want_pullback = rotary(HEADS[row], positions=positions)
        np.testing.assert_array_equal(y[row], want)
        np.testing.assert_array_equal(pullback(HEADS)[0][row], want_pullback(HEADS[row])[0])


@pytest.mark.parametrize("positions", [None, np.arange(4)])
def test_one_row_of_positions_is_for_all_rows(positions):
    np.testing.assert_array_equal(rotated(HEADS, rotate=rotary, positions=positions)[0], rotary(HEADS)[0])
