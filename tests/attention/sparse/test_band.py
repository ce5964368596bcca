"""Attention in bands: sliding windows and sparse patterns, their masks, edges and what they cost."""

import math

import numpy as np
import pytest

from compare.interpretations import cost
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.sparse.alternating import alternating_attention, alternating_mask
from refimpl.attention.sparse.band import band_mask, banded, banded_attention
from refimpl.attention.sparse.sliding_window import sliding_window_attention, sliding_window_mask
from refimpl.attention.sparse.strided import strided_attention, strided_mask


def heads(*, lead=(2,), n_query=6, n_key=6, d_head=4, d_value=3):
    generator = np.random.default_rng(12)
    shapes = ((n_query, d_head), (n_key, d_head), (n_key, d_value))
    return [generator.standard_normal((*lead, *shape)) for shape in shapes]


def test_a_window_counts_the_query_itself():
    mask = sliding_window_mask(4, 4, window=2, like=np.zeros(1))
    assert mask.astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


def test_a_window_of_one_is_the_value_itself():
    q, k, v = heads()
    y, pullback = sliding_window_attention(q, k, v, window=1)
    np.testing.assert_array_equal(y, v)
    dq, dk, dv = pullback(y)
    np.testing.assert_array_equal(dv, y)
    assert not np.any(dq)
    assert not np.any(dk)


def test_a_window_while_decoding_ends_with_the_last_key():
    mask = sliding_window_mask(1, 8, window=3, like=np.zeros(1))
    assert mask.tolist() == [[False] * 5 + [True] * 3]
    q, k, v = heads(n_query=1, n_key=8)
    k[:, :5], v[:, :5] = np.nan, np.inf  # what left the window is not even read
    y, pullback = sliding_window_attention(q, k, v, window=3)
    np.testing.assert_array_equal(y, sliding_window_attention(q, k[:, 5:], v[:, 5:], window=3)[0])
    _, dk, dv = pullback(y)
    np.testing.assert_array_equal(dk[:, :5], 0.0)
    np.testing.assert_array_equal(dv[:, :5], 0.0)


@pytest.mark.parametrize(("n_query", "n_key"), [(0, 3), (3, 0), (1, 1), (7, 2), (2, 7), (9, 9)])
@pytest.mark.parametrize("window", [1, 2, 5, 50])
def test_any_lengths(n_query, n_key, window):
    q, k, v = heads(n_query=n_query, n_key=n_key)
    y, pullback = sliding_window_attention(q, k, v, window=window)
    seen = np.any(sliding_window_mask(n_query, n_key, window=window, like=q), axis=-1)
    assert y.shape == (2, n_query, 3)
    np.testing.assert_array_equal(y[:, ~seen], 0.0)
    for x, gradient in zip((q, k, v), pullback(y), strict=True):
        assert gradient.shape == x.shape
        assert np.all(np.isfinite(gradient))


def test_band_masks_are_their_loops():
    for n_query, n_key, left, right in [(5, 5, 1, 2), (3, 7, 2, 0), (6, 4, 0, 1)]:
        mask = band_mask(n_query, n_key, left=left, right=right, like=np.zeros(1))
        for i in range(n_query):
            for j in range(n_key):
                assert mask[i, j] == (-left <= j - (i + n_key - n_query) <= right)


def test_blocks_overlap_and_stop_at_the_edges():
    x = np.arange(1.0, 6.0)[:, None]
    y, pullback = banded(x, first=-2, size=2, n_block=3, n_shift=2)
    assert y[..., 0].tolist() == [[0, 0, 1, 2], [1, 2, 3, 4], [3, 4, 5, 0]]
    assert pullback(np.ones_like(y))[0][:, 0].tolist() == [2, 2, 2, 2, 1]


def test_strided_mask_by_hand():
    mask = strided_mask(7, stride=3, like=np.zeros(1))
    assert [np.flatnonzero(row).tolist() for row in mask] == [
        [0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [0, 3, 4, 5, 6],
    ]  # fmt: skip


def test_a_stride_of_one_or_of_all_is_causal():
    for stride in (1, 7, 20):
        np.testing.assert_array_equal(
            strided_mask(7, stride=stride, like=np.zeros(1)), causal_mask(7, 7, like=np.zeros(1))
        )


def test_every_second_layer_is_dense():
    dense, banded_one = (alternating_mask(4, 6, layer=layer, window=2, like=np.zeros(1)) for layer in (2, 3))
    np.testing.assert_array_equal(dense, causal_mask(4, 6, like=np.zeros(1)))
    np.testing.assert_array_equal(banded_one, sliding_window_mask(4, 6, window=2, like=np.zeros(1)))


def costs(n, run):
    arrays = [cost.empty((2, n, 16), "float32") for _ in range(3)]
    with cost.tracking() as tracker:
        y, pullback = run(*arrays)
        kept = (y, pullback(y))
    assert kept
    return tracker.peak_bytes, tracker.by_word["matmul"].flops


def window_of_8(q, k, v):
    return sliding_window_attention(q, k, v, window=9)


def test_the_cost_of_a_window_is_linear_in_the_length():
    """Bytes and flops grow by the same number for every further block of 8 queries."""
    peaks, flops = zip(*(costs(n, window_of_8) for n in (256, 512, 768, 1024)), strict=True)
    for figures in (peaks, flops):
        first, *others = np.diff(figures)
        assert all(step == first for step in others)
    # A block of 8 sees 16 keys, so a position has 16 scores a head; 7 products with 2 * 16 flops each.
    assert flops[0] == 7 * 2 * 16 * (2 * 256 * 16)


def test_the_cost_of_a_window_is_linear_in_its_width():
    flops = [costs(512, lambda q, k, v, w=w: sliding_window_attention(q, k, v, window=w + 1))[1] for w in (8, 16, 32)]
    assert flops == [flops[0], 2 * flops[0], 4 * flops[0]]


def test_the_cost_of_all_pairs_is_not_linear():
    (small, _), (large, _) = (costs(n, attention) for n in (256, 512))
    assert large > 3 * small


def test_strided_attention_costs_n_times_root_n():
    flops = [
        costs(n, lambda q, k, v, n=n: strided_attention(q, k, v, stride=math.isqrt(n)))[1] for n in (256, 1024, 4096)
    ]
    # Near keys and columns cost about as much: per position stride and n / stride.
    assert 7 < flops[1] / flops[0] < 9
    assert 7 < flops[2] / flops[1] < 9


@pytest.mark.parametrize(
    ("run", "settings", "error", "message"),
    [
        (sliding_window_attention, {"window": 0}, ValueError, "window must be at least 1, which is the query itself"),
        (banded_attention, {"left": -1, "right": 0}, ValueError, "left must be at least 0, got -1"),
        (banded_attention, {"left": 0, "right": -2}, ValueError, "right must be at least 0, got -2"),
        (strided_attention, {"stride": 0}, ValueError, "stride must be at least 1, got 0"),
        (alternating_attention, {"layer": -1, "window": 2}, ValueError, "layer must be at least 0, got -1"),
        (alternating_attention, {"layer": 0, "window": 0}, ValueError, "window must be at least 1"),
        (
            sliding_window_attention, {"window": 2, "mask": np.ones((6, 6), bool)}, ValueError,
            r"mask must broadcast to \(2, 1, 6\), got \(6, 6\)",
        ),
        (sliding_window_attention, {"window": 2, "mask": np.ones((1, 6))}, TypeError, "mask must be a boolean array"),
    ],
)  # fmt: skip
def test_refusals(run, settings, error, message):
    with pytest.raises(error, match=message):
        run(*heads(), **settings)


def test_strided_attention_is_of_one_sequence():
    with pytest.raises(ValueError, match="k must have shape"):
        strided_attention(*heads(n_key=7), stride=2)
    with pytest.raises(ValueError, match="window must be at least 1"):
        sliding_window_mask(3, 3, window=0, like=np.zeros(1))
    with pytest.raises(ValueError, match="stride must be at least 1"):
        strided_mask(3, stride=0, like=np.zeros(1))
