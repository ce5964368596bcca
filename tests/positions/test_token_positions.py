import numpy as np
import pytest

from refimpl.positions.token_positions import token_positions


def test_padding_on_either_side():
    is_token = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
    want = [[0, 0, 0, 1, 2], [0, 1, 2, 2, 2], [0, 0, 1, 1, 2], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]]
    got = token_positions(is_token)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == np.int64


def test_any_rank():
    np.testing.assert_array_equal(token_positions(np.array([False, True, True])), [0, 0, 1])
    assert token_positions(np.ones((2, 0), bool)).shape == (2, 0)


def test_bad_input():
    with pytest.raises(TypeError, match=r"is_token must be a boolean array .*got dtype int64"):
        token_positions(np.array([0, 1]))
    with pytest.raises(ValueError, match="is_token must have at least 1 axes"):
        token_positions(np.array(True))
