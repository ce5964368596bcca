import numpy as np
import pytest

from refimpl.arrays import Narrow, narrow
from refimpl.attention.cache.paged import (
    append_pages,
    empty_pages,
    fork_pages,
    gather_pages,
    reorder_pages,
    rewind_pages,
)

K = np.arange(24.0).reshape(2, 1, 6, 2)
V = 100.0 + K[..., :1]


def filled(n=6, *, n_slot=4):
    return append_pages(empty_pages(2, 1, 2, like=K, d_value=1, n_slot=n_slot), K[:, :, :n], V[:, :, :n])


def blocks(pages):
    """How many blocks there are, shared ones once."""
    return len({id(block) for table in pages.tables for block in table})


def test_a_block_holds_n_slot_tokens():
    assert [len(table) for table in filled(4).tables] == [1, 1]
    assert [len(table) for table in filled(5).tables] == [2, 2]
    assert all(part.shape[1] == 4 for table in filled(5).tables for block in table for part in block)


def test_gather_pads_shorter_rows_on_the_left():
    is_token = np.array([[True] * 6, [False, True, True, False, False, True]])
    pages = append_pages(empty_pages(2, 1, 2, like=K, d_value=1, n_slot=4), K, V, is_token=is_token)
    past = gather_pages(pages)
    assert past.positions.tolist() == [[0, 1, 2, 3, 4, 5], [-1, -1, -1, 0, 1, 2]]
    np.testing.assert_array_equal(past.k[0], K[0])
    np.testing.assert_array_equal(past.k[1, :, 3:], K[1][:, [1, 2, 5]])
    np.testing.assert_array_equal(past.v[1, :, 3:], V[1][:, [1, 2, 5]])
    assert past.n_seen.tolist() == [6, 3]


def test_append_shares_full_blocks_with_the_old_cache():
    old = filled(6)
    new = append_pages(old, K[:, :, :1], V[:, :, :1])
    for before, after in zip(old.tables, new.tables, strict=True):
        assert after[0] is before[0]
        assert after[1] is not before[1]
    np.testing.assert_array_equal(gather_pages(old).k, K)


def test_a_fork_copies_nothing_until_it_is_written_to():
    """At most one block a row, whatever the length of the past."""
    pages = filled(6)
    forked = fork_pages(pages, 3)
    assert len(forked.tables) == 6
    assert blocks(forked) == blocks(pages) == 4
    grown = append_pages(forked, K[[0, 0, 0, 1, 1, 1]][:, :, :1], V[[0, 0, 0, 1, 1, 1]][:, :, :1])
    assert blocks(grown) == 2 + 6


def test_reorder_takes_rows_without_copying():
    pages = filled(6)
    rows = reorder_pages(pages, np.array([1, 1, 0]))
    np.testing.assert_array_equal(gather_pages(rows).k, K[[1, 1, 0]])
    assert blocks(rows) == 4
    assert blocks(reorder_pages(pages, np.array([1]))) == 2


@pytest.mark.parametrize("n_left", [0, 1, 3, 4, 5, 6])
def test_rewind_to_either_side_of_a_boundary(n_left):
    pages = rewind_pages(filled(6), 6 - n_left)
    assert [len(table) for table in pages.tables] == [-(-n_left // 4)] * 2
    np.testing.assert_array_equal(gather_pages(pages).k, K[:, :, :n_left])
    grown = append_pages(pages, K[:, :, 5:], V[:, :, 5:])
    np.testing.assert_array_equal(gather_pages(grown).v, np.concatenate([V[:, :, :n_left], V[:, :, 5:]], axis=2))


def test_rows_are_rewound_apart():
    past = gather_pages(rewind_pages(filled(6), np.array([0, 5])))
    assert past.positions.tolist() == [[0, 1, 2, 3, 4, 5], [-1, -1, -1, -1, -1, 0]]


def test_nothing_can_be_gathered():
    assert gather_pages(empty_pages(2, 1, 2, like=K, n_slot=3)).k.shape == (2, 1, 0, 2)
    none = reorder_pages(filled(6), np.zeros(0, int))
    assert gather_pages(none).k.shape == (0, 1, 0, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_stay_16_bits(dtype):
    k, v = narrow(K, dtype), narrow(V, dtype)
    past = gather_pages(append_pages(empty_pages(2, 1, 2, like=k, d_value=1, n_slot=4), k, v))
    for x, want in ((past.k, k), (past.v, v)):
        assert isinstance(x, Narrow)
        np.testing.assert_array_equal(x, want)


def test_bad_input_is_refused():
    pages = filled()
    with pytest.raises(ValueError, match=r"k must have shape \(2, 1, any, 2\), got \(3, 1, 6, 2\)"):
        append_pages(pages, np.zeros((3, 1, 6, 2)), V)
    with pytest.raises(TypeError, match="k must have the dtype of cache"):
        append_pages(pages, K.astype(np.float32), V)
    with pytest.raises(ValueError, match="n must be between 0 and the lengths of the rows"):
        rewind_pages(pages, 7)
    with pytest.raises(ValueError, match=r"rows must lie in \[0, 2\)"):
        reorder_pages(pages, np.array([2]))
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        fork_pages(pages, 0)
    with pytest.raises(ValueError, match="n_slot must be at least 1, got 0"):
        empty_pages(2, 1, 2, like=K, n_slot=0)
