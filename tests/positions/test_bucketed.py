import numpy as np
import pytest

from refimpl.positions.bucketed import bucketed_bias, relative_buckets

ONE = np.ones(1)


def buckets(n_query, n_key, n_bucket, max_distance, bidirectional):
    return relative_buckets(
        n_query, n_key, n_bucket=n_bucket, max_distance=max_distance, bidirectional=bidirectional, like=ONE
    )


def test_by_hand():
    """Eight buckets one way: 0 to 3 by themselves, then from 4, 6 (4 sqrt 2 is 5.66), 8 and 12 (11.3) on."""
    row = buckets(1, 20, 8, 16, False)[0, ::-1]
    np.testing.assert_array_equal(row, [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, *[7] * 8])


def test_both_ways_by_hand():
    """Keys after the query have the second half of the buckets, where the first is never used."""
    np.testing.assert_array_equal(buckets(3, 3, 8, 10, True), [[0, 5, 6], [1, 0, 5], [2, 1, 0]])
    np.testing.assert_array_equal(buckets(3, 3, 8, 10, False), [[0, 0, 0], [1, 0, 0], [2, 1, 0]])


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("n_bucket", "max_distance"),
    [(32, 128), (8, 20), (16, 64), (64, 128), (32, 512), (12, 100), (4, 3), (128, 2048), (10, 11), (32, 127)],
)
def test_buckets_are_those_of_t5(n_bucket, max_distance, bidirectional):
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    n = min(2 * max_distance, 1500)
    ahead = torch.arange(1 - n, n)
    want = T5Attention._relative_position_bucket(ahead, bidirectional, n_bucket, max_distance).numpy()
    first, last = buckets(n, n, n_bucket, max_distance, bidirectional)[[0, -1]]
    np.testing.assert_array_equal(np.concatenate([last, first[1:]]), want)


def test_far_buckets_grow_by_one_ratio():
    row = buckets(1, 4096, 32, 2048, False)[0, ::-1]
    starts = [int(np.argmax(row == b)) for b in range(16, 32)]
    # start / 16 is at least 128^(i / 16), and (start - 1) / 16 is not: in integers.
    for i, start in enumerate(starts):
        assert start**16 >= 16**16 * 128**i > (start - 1) ** 16


def test_the_bias_by_hand():
    weight = np.arange(12.0).reshape(4, 3)
    y, pullback = bucketed_bias({"weight": weight}, n_query=2, n_key=2, max_distance=5, bidirectional=False)
    assert y.shape == (3, 2, 2)
    np.testing.assert_array_equal(y[1], [[1, 1], [4, 1]])
    ((_, dweight),) = pullback(np.arange(12.0).reshape(3, 2, 2))[0].items()
    np.testing.assert_array_equal(dweight, [[4, 16, 28], [2, 6, 10], [0, 0, 0], [0, 0, 0]])


def test_decoding_is_the_last_row():
    params = {"weight": np.random.default_rng(0).normal(size=(16, 2))}
    whole, _ = bucketed_bias(params, n_query=9, n_key=9)
    last, _ = bucketed_bias(params, n_query=2, n_key=9)
    np.testing.assert_array_equal(last, whole[:, -2:])


def test_nothing():
    y, pullback = bucketed_bias({"weight": np.ones((4, 2))}, n_query=0, n_key=3)
    assert y.shape == (2, 0, 3)
    np.testing.assert_array_equal(pullback(y)[0]["weight"], np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("params", "settings", "error", "message"),
    [
        ({"weight": np.ones((7, 2))}, {}, ValueError, "n_bucket must be even and at least 4, got 7"),
        ({"weight": np.ones((1, 2))}, {"bidirectional": False}, ValueError, "n_bucket must be at least 2, got 1"),
        ({"weight": np.ones((32, 2))}, {"max_distance": 8}, ValueError, "max_distance must be greater than 8, got 8"),
        ({"weight": np.ones(4)}, {}, ValueError, r"weight must have shape \(any, any\), got \(4,\)"),
        ({"bias": np.ones((4, 2))}, {}, ValueError, "params must have the keys weight, got bias"),
        ({"weight": np.ones((4, 2), np.int64)}, {}, TypeError, "weight.*must be a floating array"),
    ],
)
def test_bad_input(params, settings, error, message):
    with pytest.raises(error, match=message):
        bucketed_bias(params, n_query=3, n_key=3, **settings)
