import numpy as np
import pytest

from refimpl.positions.rotary_layout import half_to_interleaved, interleaved_to_half


def test_by_hand():
    """One head of six features, four of them turned: pairs (0, 2) and (1, 3) come to lie side by side."""
    weight = np.arange(6.0)[:, None]
    got = half_to_interleaved(weight, n_head=1, d_rotary=4)
    np.testing.assert_array_equal(got[:, 0], [0, 2, 1, 3, 4, 5])
    np.testing.assert_array_equal(interleaved_to_half(weight, n_head=1, d_rotary=4)[:, 0], [0, 2, 1, 3, 4, 5])
    eight = np.arange(8.0)
    np.testing.assert_array_equal(half_to_interleaved(eight, n_head=1), [0, 4, 1, 5, 2, 6, 3, 7])
    np.testing.assert_array_equal(interleaved_to_half(eight, n_head=1), [0, 2, 4, 6, 1, 3, 5, 7])


def test_heads_are_permuted_one_by_one():
    got = half_to_interleaved(np.arange(8.0), n_head=2)
    np.testing.assert_array_equal(got, [0, 2, 1, 3, 4, 6, 5, 7])


@pytest.mark.parametrize("shape", [(24,), (24, 5)])
@pytest.mark.parametrize("d_rotary", [None, 0, 6])
def test_there_and_back(shape, d_rotary):
    weight = np.random.default_rng(0).normal(size=shape)
    there = half_to_interleaved(weight, n_head=3, d_rotary=d_rotary)
    np.testing.assert_array_equal(interleaved_to_half(there, n_head=3, d_rotary=d_rotary), weight)
    assert not np.shares_memory(there, weight)


@pytest.mark.parametrize("convert", [half_to_interleaved, interleaved_to_half])
@pytest.mark.parametrize(
    ("weight", "settings", "error", "message"),
    [
        (np.ones((10, 3)), {"n_head": 3}, ValueError, "n_head must be a divisor of 10, the rows of weight, got 3"),
        (np.ones((10, 3)), {"n_head": 0}, ValueError, "n_head must be a divisor of 10"),
        (np.ones((10, 3)), {"n_head": 2}, ValueError, "d_rotary must be even and at most 5, the size of a head, got 5"),
        (np.ones((8, 3)), {"n_head": 2, "d_rotary": 6}, ValueError, "d_rotary must be even and at most 4.*got 6"),
        (np.array(1.0), {"n_head": 1}, ValueError, "weight must have at least 1 axes"),
        (np.ones(4, np.int64), {"n_head": 1}, TypeError, "weight must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(convert, weight, settings, error, message):
    with pytest.raises(error, match=message):
        convert(weight, **settings)
