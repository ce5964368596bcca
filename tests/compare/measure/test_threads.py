"""Thread counts are set, read back, and restored."""

import pytest
import torch

from compare.measure.threads import check_threads, limited_threads, set_threads, thread_counts


def test_every_pool_has_the_number_inside_and_its_own_again_outside():
    before = thread_counts()
    assert torch.get_num_threads() == before["torch"]
    for n_thread in (1, 2):
        with limited_threads(n_thread) as counts:
            assert set(counts.values()) == {n_thread}
            assert thread_counts() == counts
    assert thread_counts() == before


def test_restored_after_an_error():
    before = thread_counts()
    with pytest.raises(KeyError), limited_threads(1):
        raise KeyError
    assert thread_counts() == before


def test_a_pool_with_another_number_is_named():
    with pytest.raises(RuntimeError, match=r"must have 2 threads, but torch has 1"):
        check_threads(2, {"openblas": 2, "torch": 1})


@pytest.mark.parametrize("n_thread", [0, -1, 1.5, None])
def test_only_positive_integers(n_thread):
    with pytest.raises(ValueError, match="n_thread must be a positive integer"):
        set_threads(n_thread)
