import numpy as np
import pytest

from refimpl.layers.embedding import embedding

PARAMS = {"weight": np.array([[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]])}


def test_by_hand_with_repeated_ids():
    y, pullback = embedding(np.array([[2, 0], [2, 2]]), PARAMS)
    np.testing.assert_array_equal(y, [[[20, 21], [0, 1]], [[20, 21], [20, 21]]])
    dy = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    (dparams,) = pullback(dy)
    np.testing.assert_array_equal(dparams["weight"], [[3, 4], [0, 0], [13, 16]])


def test_padding_is_read_but_never_trained():
    y, pullback = embedding(np.array([2, 0, 2]), PARAMS, padding_id=2)
    np.testing.assert_array_equal(y, [[20, 21], [0, 1], [20, 21]])
    np.testing.assert_array_equal(pullback(np.ones((3, 2)))[0]["weight"], [[1, 1], [0, 0], [0, 0]])


def test_a_table_of_16_bits_sums_in_32():
    """5,000 ones added in float16 stop at 2,048."""
    from refimpl.arrays import narrow

    weight = narrow(np.zeros((1, 1)), "float16")
    _, pullback = embedding(np.zeros(5000, np.int64), {"weight": weight})
    assert pullback(narrow(np.ones((5000, 1)), "float16"))[0]["weight"] == 5000.0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_any_integers_are_ids(dtype):
    np.testing.assert_array_equal(embedding(np.array([1], dtype), PARAMS)[0], [[10, 11]])


def test_a_single_id_shares_no_memory_with_the_table():
    for one in (np.array(1), np.int64(1)):
        y, pullback = embedding(one, PARAMS)
        np.testing.assert_array_equal(y, [10, 11])
        assert not np.shares_memory(y, PARAMS["weight"])
        np.testing.assert_array_equal(pullback(y)[0]["weight"], [[0, 0], [10, 11], [0, 0]])


def test_no_ids():
    y, pullback = embedding(np.zeros((0, 4), np.int64), PARAMS)
    assert y.shape == (0, 4, 2)
    np.testing.assert_array_equal(pullback(y)[0]["weight"], np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("ids", "settings", "error", "message"),
    [
        ([3], {}, ValueError, r"ids must lie in \[0, 3\), got values from 3 to 3"),
        ([-1, 2], {}, ValueError, r"ids must lie in \[0, 3\), got values from -1 to 2"),
        ([0.0], {}, TypeError, "ids must be an integer array, got dtype float64"),
        ([True], {}, TypeError, "ids must be an integer array, got dtype bool"),
        ([0], {"padding_id": 3}, ValueError, r"padding_id must be in \[0, 3\), got 3"),
        ([0], {"padding_id": -1}, ValueError, r"padding_id must be in \[0, 3\), got -1"),
    ],
)
def test_bad_input(ids, settings, error, message):
    with pytest.raises(error, match=message):
        embedding(np.array(ids), PARAMS, **settings)
