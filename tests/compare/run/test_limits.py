import numpy as np
import pytest

from compare.run.limits import is_out_of_memory, share_of_memory


def raised(function, *arguments):
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return caught.value


def test_every_library_says_in_its_way_that_memory_ran_out():
    import torch

    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(raised(np.ones, 1 << 50))
    assert is_out_of_memory(raised(torch.ones, 1 << 50))


def test_other_errors_do_not_say_so():
    assert not is_out_of_memory(ValueError("memory is a fine thing"))
    assert not is_out_of_memory(RecursionError("maximum recursion depth exceeded"))


def test_the_workers_share_the_memory():
    assert 2 * share_of_memory(2) <= share_of_memory(1) + 1
