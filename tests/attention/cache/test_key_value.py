import numpy as np
import pytest

from refimpl.arrays import Narrow, narrow
from refimpl.attention.cache.key_value import append, cache_mask, cache_places, empty_cache, fork, reorder, rewind
from refimpl.attention.cache.rows import next_positions

K = np.arange(24.0).reshape(2, 1, 6, 2)
V = 100.0 + K[..., :1]


def filled(n=6, **settings):
    past = empty_cache(2, 1, 2, like=K, d_value=1, **settings)
    return append(past, K[:, :, :n], V[:, :, :n])


def test_append_gives_a_new_cache_and_leaves_the_old_one():
    empty = empty_cache(2, 1, 2, like=K, d_value=1)
    two = append(empty, K[:, :, :2], V[:, :, :2])
    all_six = append(two, K[:, :, 2:], V[:, :, 2:])
    assert empty.k.shape == (2, 1, 0, 2)
    np.testing.assert_array_equal(two.k, K[:, :, :2])
    np.testing.assert_array_equal(all_six.k, K)
    np.testing.assert_array_equal(all_six.v, V)
    assert all_six.positions.tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    assert all_six.n_seen.tolist() == [6, 6]


def test_padding_has_no_position():
    """P3, for a cache: positions are the cumulated mask minus 1, per row."""
    is_token = np.array([[False, True, True], [True, False, True]])
    past = append(empty_cache(2, 1, 2, like=K, d_value=1), K[:, :, :3], V[:, :, :3], is_token=is_token)
    assert past.positions.tolist() == [[-1, 0, 1], [0, -1, 1]]
    assert past.n_seen.tolist() == [2, 2]
    assert next_positions(past.n_seen, 2).tolist() == [[2, 3], [2, 3]]


def test_one_query_sees_the_whole_past_and_no_padding():
    past = append(filled(3), K[:, :, :2], V[:, :, :2], is_token=np.array([[True, True], [False, True]]))
    mask = cache_mask(past, past.positions[:, 3:])
    assert mask.shape == (2, 1, 2, 5)
    assert mask[0, 0].tolist() == [[True, True, True, True, False], [True] * 5]
    # The first query of the second row is padding.
    assert mask[1, 0].tolist() == [[False] * 5, [True, True, True, False, True]]


def test_a_window_of_w_counts_the_query_itself():
    """A11, for a cache."""
    past = filled(6, window=3)
    assert cache_mask(past, np.array([[5], [4]]))[:, 0, 0].tolist() == [
        [False, False, False, True, True, True],
        [False, False, True, True, True, False],
    ]


def test_what_no_query_will_see_is_forgotten_with_the_next_append():
    past = filled(6, window=3, n_sink=1)
    grown = append(past, K[:, :, :1], V[:, :, :1])
    assert grown.positions.tolist() == [[0, 4, 5, 6]] * 2
    assert grown.n_seen.tolist() == [7, 7]
    again = append(grown, K[:, :, :2], V[:, :, :2])
    assert again.positions.tolist() == [[0, 5, 6, 7, 8]] * 2
    # StreamingLLM counts places among those that are left.
    assert cache_places(again).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_places_pass_over_padding():
    is_token = np.array([[False, True, True], [True, False, True]])
    past = append(empty_cache(2, 1, 2, like=K, d_value=1), K[:, :, :3], V[:, :, :3], is_token=is_token)
    assert cache_places(past).tolist() == [[-1, 0, 1], [0, -1, 1]]


def test_a_window_of_one_remembers_nothing_but_sinks():
    grown = append(filled(4, window=1, n_sink=2), K[:, :, :1], V[:, :, :1])
    assert grown.positions.tolist() == [[0, 1, 4]] * 2


def test_rewind_takes_tokens_back_from_each_row():
    past = rewind(filled(), np.array([1, 3]))
    assert past.n_seen.tolist() == [5, 3]
    assert past.positions.tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, -1, -1]]
    grown = append(past, K[:, :, :1], V[:, :, :1])
    assert grown.positions.tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, 2, -1, -1, 3]]


def test_rewind_of_everything_is_empty():
    past = rewind(filled(), 6)
    assert past.k.shape == (2, 1, 0, 2)
    assert past.n_seen.tolist() == [0, 0]


def test_rewind_within_the_newest_append_is_always_possible():
    past = append(filled(6, window=3), K[:, :, :4], V[:, :, :4])
    assert rewind(past, 4).positions.tolist() == [[4, 5]] * 2
    with pytest.raises(ValueError, match="n must be small enough for a window of 3 to be remembered, got 5"):
        rewind(past, 5)


def test_reorder_and_fork():
    past = append(filled(2), K[:, :, :1], V[:, :, :1], is_token=np.array([[True], [False]]))
    swapped = reorder(past, np.array([1, 0, 1]))
    np.testing.assert_array_equal(swapped.k, past.k[[1, 0, 1]])
    np.testing.assert_array_equal(swapped.v, past.v[[1, 0, 1]])
    assert swapped.n_seen.tolist() == [2, 3, 2]
    forked = fork(past, 2)
    np.testing.assert_array_equal(forked.k, past.k[[0, 0, 1, 1]])
    assert forked.n_seen.tolist() == [3, 3, 2, 2]
    assert (swapped.window, swapped.n_sink) == (None, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_stay_16_bits(dtype):
    k, v = narrow(K, dtype), narrow(V, dtype)
    past = append(empty_cache(2, 1, 2, like=k, d_value=1), k, v)
    for x in (past.k, past.v, rewind(past, 1).k, fork(past, 2).v):
        assert isinstance(x, Narrow)
        assert x.dtype == k.dtype


def test_bad_input_is_refused():
    past = filled()
    with pytest.raises(ValueError, match=r"k must have shape \(2, 1, any, 2\), got \(2, 1, 6, 3\)"):
        append(past, np.zeros((2, 1, 6, 3)), V)
    with pytest.raises(ValueError, match=r"v must have shape \(2, 1, 6, 1\), got \(2, 1, 5, 1\)"):
        append(past, K, V[:, :, :5])
    with pytest.raises(TypeError, match="k must have the dtype of cache, float64, got float32"):
        append(past, K.astype(np.float32), V)
    with pytest.raises(TypeError, match="is_token must be a boolean array"):
        append(past, K, V, is_token=np.ones((2, 6)))
    with pytest.raises(ValueError, match=r"is_token must have shape \(2, 6\), got \(2, 5\)"):
        append(past, K, V, is_token=np.ones((2, 5), bool))
    for n in (7, -1, np.array([0, 7])):
        with pytest.raises(ValueError, match="n must be between 0 and the lengths of the rows"):
            rewind(past, n)
    with pytest.raises(TypeError, match="n must be an integer or an array of integers, got dtype float64"):
        rewind(past, 1.0)
    with pytest.raises(ValueError, match=r"n must have shape \(2,\)"):
        rewind(past, np.array([[1, 1], [1, 1]]))
    with pytest.raises(ValueError, match=r"rows must lie in \[0, 2\)"):
        reorder(past, np.array([0, 2]))
    with pytest.raises(TypeError, match="rows must be an integer array"):
        reorder(past, np.array([0.0]))
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        fork(past, 0)
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        empty_cache(2, 1, 2, like=K, window=0)
    with pytest.raises(ValueError, match="n_sink must be at least 0, got -1"):
        empty_cache(2, 1, 2, like=K, n_sink=-1)
    with pytest.raises(ValueError, match=r"query_positions must have shape \(2, any\)"):
        cache_mask(past, np.zeros((3, 1), int))
