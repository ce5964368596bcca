"""Faults of windows, tiles and shifts that other implementations really had; the numbers name the public reports."""

import numpy as np

from refimpl.attention.dot_product import attention
from refimpl.attention.relative.shift import relative_shift
from refimpl.attention.sparse.sliding_window import sliding_window_attention, sliding_window_mask
from refimpl.attention.tiled.attention import tiled_attention

GENERATOR = np.random.default_rng(8)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 3, 4), (2, 8, 4), (2, 8, 6)])
TILES = {"tile_query": 2, "tile_key": 3}


def test_A11_a_window_counts_the_query_itself():
    """transformers 39408: (W, 0) of another convention, which does not count the query, is a window of W + 1 here."""
    assert sliding_window_mask(3, 3, window=1, like=Q).tolist() == np.eye(3, dtype=bool).tolist()
    w = 2
    pairs = [[0 <= i - j <= w for j in range(6)] for i in range(6)]
    np.testing.assert_array_equal(sliding_window_mask(6, 6, window=w + 1, like=Q), pairs)
    # The last query sees the last two keys, and no other moves its output.
    y, _ = sliding_window_attention(Q, K, V, window=2)
    changed = np.where((np.arange(8) < 6)[:, None], 1e6, K)
    np.testing.assert_array_equal(sliding_window_attention(Q, changed, V, window=2)[0][:, 2], y[:, 2])
    other, _ = sliding_window_attention(Q, np.where((np.arange(8) == 6)[:, None], 9.0, K), V, window=2)
    assert np.all(other[:, 2] != y[:, 2])


def test_P5_the_relative_shift_leaves_nothing_after_the_diagonal(generator):
    """espnet 2684: the bare reshape leaves numbers of the next row there."""
    x = generator.standard_normal((5, 5))
    bare = np.pad(x, [(0, 0), (1, 0)]).reshape(6, 5)[1:].reshape(5, 5)
    after = np.triu(np.ones((5, 5), bool), k=1)
    assert np.any(bare[after] != 0.0)
    y, pullback = relative_shift(x)
    np.testing.assert_array_equal(y, np.where(after, 0.0, bare))
    np.testing.assert_array_equal(pullback(np.where(after, 1e6, y))[0], pullback(y)[0])


def test_A1_a_fully_masked_row_in_tiles():
    mask = np.ones((3, 8), bool)
    mask[1] = False
    (y, lse), pullback = tiled_attention(Q, K, V, mask=mask, **TILES)
    np.testing.assert_array_equal(y[:, 1], 0.0)
    assert np.all(lse[:, 1] == -np.inf)
    dq, dk, dv = pullback((np.ones_like(y), np.ones_like(lse)))
    np.testing.assert_array_equal(dq[:, 1], 0.0)
    assert all(np.all(np.isfinite(gradient)) for gradient in (dq, dk, dv))


def test_A3_one_query_sees_all_keys_in_tiles():
    (one, _), _ = tiled_attention(Q[:, :1], K, V, causal=True, **TILES)
    (free, _), _ = tiled_attention(Q[:, :1], K, V, **TILES)
    np.testing.assert_array_equal(one, free)


def test_A4_more_queries_than_keys_in_tiles():
    (y, _), pullback = tiled_attention(K, Q, Q, causal=True, **TILES)
    np.testing.assert_array_equal(y[:, :5], 0.0)
    np.testing.assert_array_equal(y[:, 5], Q[:, 0])
    np.testing.assert_array_equal(pullback((y, np.zeros((2, 8))))[0][:, :5], 0.0)


def test_A7_softcap_before_the_mask_in_tiles():
    scores, mask = np.array([[3.0], [1.0], [7.0], [7.0]]), np.array([[True, True, False, False]])
    (y, _), _ = tiled_attention(np.ones((1, 1)), scores, np.eye(4), mask=mask, softcap=2.0, **TILES)
    np.testing.assert_array_equal(y[0, 2:], 0.0)


def test_A12_large_constant_inputs_leave_finite_gradients_in_tiles():
    for causal in (False, True):
        q = np.full((4, 3), 1e4, np.float32)
        (y, lse), pullback = tiled_attention(q, q, q, causal=causal, **TILES)
        assert all(np.all(np.isfinite(gradient)) for gradient in pullback((y, lse)))
        naive, _ = attention(q, q, q)
        np.testing.assert_array_equal(y, naive)
