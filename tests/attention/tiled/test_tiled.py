"""Attention in tiles, and merged from parts: by hand, at the edges of its domain, and how much memory it takes."""

import itertools
import math

import numpy as np
import pytest

from compare.interpretations import cost
from compare.interpretations.spread import spread
from refimpl.arrays import narrow
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention
from refimpl.attention.tiled.split_kv import split_kv_attention

INF = math.inf


def heads(*, lead=(2,), n_query=5, n_key=7, d_head=4, d_value=3, scale=1.0):
    generator = np.random.default_rng(11)
    shapes = ((n_query, d_head), (n_key, d_head), (n_key, d_value))
    return [scale * generator.standard_normal((*lead, *shape)) for shape in shapes]


def test_by_hand():
    """Scores ln 1, ln 2, ln 5 weigh 1, 2 and 5 eighths, whatever the tiles; their sum is 8."""
    q, k = np.ones((1, 1)), np.log([[1.0], [2.0], [5.0]])
    v = np.array([[8.0], [16.0], [-8.0]])
    for tile_key in (1, 2, 3, 9):
        (output, lse), pullback = tiled_attention(q, k, v, scale=1.0, tile_key=tile_key)
        assert abs(output[0, 0]) <= 32 * np.finfo(np.float64).eps  # 1 + 4 - 5, each rounded a few times
        assert abs(lse[0] - math.log(8.0)) <= 4 * np.finfo(np.float64).eps
        _, dk, dv = pullback((np.zeros((1, 1)), np.ones(1)))
        # The derivative of the log-sum-exp are the weights; it knows nothing of the values.
        assert np.all(np.abs(dk[:, 0] - [1 / 8, 2 / 8, 5 / 8]) <= 8 * np.finfo(np.float64).eps)
        np.testing.assert_array_equal(dv, 0.0)


def test_scores_far_apart_do_not_overflow():
    """The maximum grows from tile to tile by more than exp can hold, and falls as far."""
    for order in itertools.permutations([0, 1, 2]):
        k = np.array([[-2000.0], [0.0], [3000.0]])[list(order)]
        v = np.array([[1.0], [2.0], [3.0]])[list(order)]
        (output, lse), pullback = tiled_attention(np.ones((1, 1)), k, v, tile_key=1)
        assert output.item() == 3.0
        assert lse.item() == 3000.0
        assert all(np.all(np.isfinite(gradient)) for gradient in pullback((output, lse)))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n_query", "n_key"), [(0, 3), (4, 0), (0, 0), (1, 1), (1, 6), (6, 1), (3, 8), (8, 3)])
def test_any_lengths(n_query, n_key, causal):
    q, k, v = heads(n_query=n_query, n_key=n_key)
    (output, lse), pullback = tiled_attention(q, k, v, causal=causal, tile_query=2, tile_key=3)
    mask = causal_mask(n_query, n_key, like=q) if causal else np.ones((n_query, n_key), bool)
    assert output.shape == (2, n_query, 3)
    assert lse.shape == (2, n_query)
    np.testing.assert_array_equal(lse == -INF, np.broadcast_to(~np.any(mask, axis=-1), lse.shape))
    np.testing.assert_array_equal(output[lse == -INF], 0.0)
    for x, gradient in zip((q, k, v), pullback((output, np.ones_like(lse))), strict=True):
        assert gradient.shape == x.shape
        assert np.all(np.isfinite(gradient))


def test_no_queries_and_no_keys_have_a_tolerance():
    for n_query, n_key in [(0, 3), (3, 0)]:
        lifted = [spread(x, np.float32) for x in heads(n_query=n_query, n_key=n_key)]
        (output, lse), pullback = tiled_attention(*lifted)
        assert all(np.all(x.sigma == 0.0) for x in pullback((output, lse)))


def test_one_hot_attention_is_a_lookup_bit_for_bit():
    q, v = 1e3 * np.eye(3)[[2, 0, 1, 2]], np.array([[4.0], [8.0], [12.0]])
    (output, _), _ = tiled_attention(q, np.eye(3), v, tile_query=3, tile_key=2)
    np.testing.assert_array_equal(output, v[[2, 0, 1, 2]])


def test_a_tile_as_large_as_all_is_no_other_rounding_than_larger_ones():
    q, k, v = heads()
    whole, larger = (tiled_attention(q, k, v, tile_query=n, tile_key=n)[0] for n in (7, 100))
    np.testing.assert_array_equal(whole[0], larger[0])
    np.testing.assert_array_equal(whole[1], larger[1])


def test_junk_after_the_diagonal_and_in_padding_reaches_nothing():
    q, k, v = heads(n_query=6, n_key=6)
    is_token = np.array([True, True, False, True, False, True])[None, :]
    clean, clean_pullback = tiled_attention(q, k, v, mask=is_token, causal=True, tile_query=2, tile_key=2)
    for junk in (np.nan, INF, -INF):
        spoilt = [np.where(is_token[0][:, None], x, junk) for x in (k, v)]
        y, pullback = tiled_attention(q, *spoilt, mask=is_token, causal=True, tile_query=2, tile_key=2)
        for got, want in zip((*y, *pullback(y)), (*clean, *clean_pullback(clean)), strict=True):
            np.testing.assert_array_equal(got, want)


def test_hidden_tiles_are_skipped():
    """Causal attention over tiles costs the tiles on and below the diagonal, not all of them."""
    arrays = [cost.empty((1, 8 * 16, 32), "float32") for _ in range(3)]
    flops = {}
    for causal in (False, True):
        with cost.tracking() as tracker:
            tiled_attention(*arrays, causal=causal, tile_query=16, tile_key=16)
        flops[causal] = tracker.by_word["matmul"].flops
    assert flops[True] / flops[False] == (8 * 9 / 2) / 8**2


def peak(n, run):
    q, k, v = (cost.empty((2, n, 16), "float32") for _ in range(3))
    with cost.tracking() as tracker:
        y, pullback = run(q, k, v)
        kept = (y, pullback(y))
    assert kept
    return tracker.peak_bytes


def test_the_analytic_peak_is_linear_in_the_length():
    """Past the length where the tiles are all there is, each further position costs the same number of bytes."""

    def tiled(q, k, v):
        return tiled_attention(q, k, v, causal=True, tile_query=16, tile_key=16)

    peaks = [peak(n, tiled) for n in (256, 512, 768, 1024)]
    steps = np.diff(peaks)
    assert steps[0] == steps[1] == steps[2]
    # Per position and head: y, lse, dq, dk, dv, their parts before they are joined, the shifts of the backward.
    assert steps[0] / 256 <= 2 * 4 * (10 * 16 + 8)


def test_the_naive_peak_is_not():
    steps = np.diff([peak(n, attention) for n in (256, 512, 768)])
    assert steps[1] > 1.5 * steps[0]


def test_the_gradient_of_a_bias_has_its_shape(generator):
    q, k, v = heads(lead=(2, 3))
    for shape in [(), (7,), (5, 7), (1, 7), (5, 1), (1, 1), (3, 1, 7), (2, 1, 5, 1), (2, 3, 5, 7)]:
        bias = generator.standard_normal(shape)
        y, pullback = tiled_attention(q, k, v, bias, tile_query=2, tile_key=3)
        assert pullback(y)[3].shape == shape


def test_16_bit_stays_16_bit():
    arrays = [narrow(x, "bfloat16") for x in heads()]
    y, pullback = tiled_attention(*arrays, tile_query=2, tile_key=3)
    assert {str(x.dtype) for x in (*y, *pullback(y))} == {"bfloat16"}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"tile_query": 0}, ValueError, "tile_query must be at least 1, got 0"),
        ({"tile_key": -1}, ValueError, "tile_key must be at least 1, got -1"),
        ({"softcap": 0.0}, ValueError, "softcap must be positive, got 0.0"),
        ({"k": np.ones((2, 7, 5))}, ValueError, r"k must have shape \(2, any, 4\), got \(2, 7, 5\)"),
        ({"v": np.ones((2, 6, 3))}, ValueError, r"v must have shape \(2, 7, any\), got \(2, 6, 3\)"),
        ({"mask": np.ones((5, 6), bool)}, ValueError, r"mask must broadcast to \(2, 5, 7\), got \(5, 6\)"),
        ({"mask": np.ones((5, 7))}, TypeError, "mask must be a boolean array"),
        ({"bias": np.ones((4, 7))}, ValueError, r"bias must broadcast to \(2, 5, 7\), got \(4, 7\)"),
        ({"keep": np.ones((5, 7), bool)}, ValueError, r"keep must have shape \(2, 5, 7\), got \(5, 7\)"),
        ({"keep": np.ones((2, 5, 7))}, TypeError, "keep must be a boolean array"),
        ({"q": np.ones((2, 5, 4), np.float32)}, TypeError, "dtype of q, float32, got float64"),
    ],
)
def test_refusals(changed, error, message):
    q, k, v = heads()
    given = {"q": q, "k": k, "v": v} | changed
    with pytest.raises(error, match=message):
        tiled_attention(**given)


# --- partial results ---------------------------------------------------------------------------------------


def test_parts_merge_by_hand():
    """Parts that weigh 3 and 1: three quarters of one output and one of the other."""
    lses = np.log([[3.0], [1.0]])
    (output, lse), pullback = merge_attention(np.array([[[8.0]], [[4.0]]]), lses)
    assert abs(output.item() - 7.0) <= 16 * np.finfo(np.float64).eps
    assert abs(lse.item() - math.log(4.0)) <= 4 * np.finfo(np.float64).eps
    doutputs, dlses = pullback((np.ones((1, 1)), np.zeros(1)))
    assert np.all(np.abs(doutputs[:, 0, 0] - [0.75, 0.25]) <= 4 * np.finfo(np.float64).eps)
    # A part gains 3/4 (8 - 7), the other loses as much: 1/4 (4 - 7).
    assert np.all(np.abs(dlses[:, 0] - [0.75, -0.75]) <= 32 * np.finfo(np.float64).eps)


def test_a_part_without_keys_changes_nothing(generator):
    outputs, lses = generator.standard_normal((2, 3, 4)), generator.standard_normal((2, 3))
    without, _ = merge_attention(outputs, lses)
    empty = np.concatenate([outputs, np.zeros((1, 3, 4))]), np.concatenate([lses, np.full((1, 3), -INF)])
    y, pullback = merge_attention(*empty)
    np.testing.assert_array_equal(y[0], without[0])
    np.testing.assert_array_equal(y[1], without[1])
    assert all(np.all(gradient[2] == 0.0) for gradient in pullback(y))


def test_one_part_is_itself_bit_for_bit(generator):
    outputs, lses = generator.standard_normal((1, 3, 4)), generator.standard_normal((1, 3))
    (output, lse), _ = merge_attention(outputs, lses)
    np.testing.assert_array_equal(output, outputs[0])
    np.testing.assert_array_equal(lse, lses[0])


def test_refusals_of_merging():
    with pytest.raises(ValueError, match=r"lses must have shape \(2, 3\), got \(3, 2\)"):
        merge_attention(np.ones((2, 3, 4)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="n_part must be at least 1, got 0"):
        merge_attention(np.ones((0, 3, 4)), np.ones((0, 3)))
    with pytest.raises(ValueError, match="outputs must have at least 3 axes"):
        merge_attention(np.ones((3, 4)), np.ones(3))


def test_refusals_of_chunks():
    with pytest.raises(ValueError, match="chunk must be at least 1, got 0"):
        split_kv_attention(*heads(), chunk=0)
    with pytest.raises(ValueError, match="mask must broadcast"):
        split_kv_attention(*heads(), chunk=2, mask=np.ones((5, 6), bool))
