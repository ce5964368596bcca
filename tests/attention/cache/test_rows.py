import numpy as np
import pytest

from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.cache.rows import check_past, checked_counts, forked_rows, next_positions

N_SEEN = np.array([3, 0])


def test_new_tokens_stand_after_the_past():
    assert next_positions(N_SEEN, 2).tolist() == [[3, 4], [0, 1]]
    assert next_positions(N_SEEN, 0).shape == (2, 0)


def test_padding_stands_nowhere():
    is_token = np.array([[True, False, True], [False, False, True]])
    assert next_positions(N_SEEN, 3, is_token=is_token).tolist() == [[3, -1, 4], [-1, -1, 0]]


def test_one_count_is_for_every_row():
    assert checked_counts(0, N_SEEN).tolist() == [0, 0]
    assert checked_counts(np.array([2, 0]), N_SEEN).tolist() == [2, 0]
    with pytest.raises(ValueError, match=r"n must be between 0 and the lengths of the rows, \[3 0\], got 1"):
        checked_counts(1, N_SEEN)


def test_a_fork_repeats_every_row():
    """As beams: h0 h0 h1 h1, not h0 h1 h0 h1."""
    assert forked_rows(N_SEEN, 3).tolist() == [0, 0, 0, 1, 1, 1]


CACHE = empty_cache(2, 3, 4, like=np.zeros(1))


def test_a_cache_for_each_layer():
    check_past((CACHE, CACHE), 2)
    check_past(((CACHE, CACHE),), 1)  # of an encoder–decoder


@pytest.mark.parametrize(
    ("past", "error", "message"),
    [
        ((CACHE,), ValueError, r"len\(past\) must be 2, one for each layer, got 1"),
        (3, TypeError, "past must be a tuple of caches, one for each layer, got int"),
        ((CACHE, None), TypeError, r"past\[1\] must be a cache, got NoneType"),
    ],
)
def test_what_is_no_past_is_refused(past, error, message):
    with pytest.raises(error, match=message):
        check_past(past, 2)
