"""Faults of attention that other implementations really had; the numbers name the public reports."""

import math

import numpy as np
import pytest

from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.mask import causal_mask
from refimpl.attention.multi_head import self_attention

INF = math.inf
GENERATOR = np.random.default_rng(7)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 3, 4), (2, 5, 4), (2, 5, 6)])
DY = GENERATOR.standard_normal((2, 3, 6))


def test_A1_a_fully_masked_row_gives_0_and_leaves_the_others_alone():
    """PyTorch 103963, mlx 2608."""
    mask = np.ones((3, 5), bool)
    mask[1] = False
    y, pullback = attention(Q, K, V, mask=mask)
    plain, plain_pullback = attention(Q, K, V)
    np.testing.assert_array_equal(y[:, 1], 0.0)
    np.testing.assert_array_equal(y[:, [0, 2]], plain[:, [0, 2]])
    dq, dk, dv = pullback(DY)
    np.testing.assert_array_equal(dq[:, 1], 0.0)
    # Without dy at the masked row, the unmasked attention has the same gradients.
    without = np.where(np.arange(3)[:, None] == 1, 0.0, DY)
    for got, want in zip((dq, dk, dv), plain_pullback(without), strict=True):
        np.testing.assert_array_equal(got, want)


def test_A2_a_fully_masked_row_leaves_every_projection_gradient_finite(generator):
    """PyTorch 41508."""
    shapes = {"in_proj_weight": (12, 4), "out_proj.weight": (4, 4)}
    params = {key: generator.standard_normal(shape) for key, shape in shapes.items()}
    mask = np.ones((3, 3), bool)
    mask[0] = False
    y, pullback = self_attention(Q, params, n_head=2, mask=mask)
    dx, dparams = pullback(y)
    for gradient in (dx, *dparams.values()):
        assert np.all(np.isfinite(gradient))
        assert np.any(gradient != 0.0)


def test_A3_one_query_with_a_cache_sees_all_eight_keys():
    """PyTorch 103082."""
    assert causal_mask(1, 8, like=Q).tolist() == [[True] * 8]
    weights, _ = attention_weights(np.zeros((1, 4)), np.zeros((8, 4)), mask=causal_mask(1, 8, like=Q))
    np.testing.assert_array_equal(weights, np.full((1, 8), 0.125))


def test_A4_more_queries_than_keys_leave_the_first_rows_empty(generator):
    """flash-attention 1778."""
    mask = causal_mask(5, 2, like=Q)
    assert mask.tolist() == [[False, False]] * 3 + [[True, False], [True, True]]
    q = generator.standard_normal((5, 4))
    y, pullback = attention(q, K[0, :2], V[0, :2], mask=mask)
    np.testing.assert_array_equal(y[:3], 0.0)
    np.testing.assert_array_equal(y[3], V[0, 0])
    np.testing.assert_array_equal(pullback(y)[0][:3], 0.0)


def test_A5_a_mask_needs_no_product_with_infinity():
    """onnx 8068: (1 - m) (-inf) is 0 inf = NaN at allowed cells; selecting is not."""
    allowed = np.array([[True, False, True, True, False]] * 3)
    with np.errstate(invalid="ignore"):
        assert np.any(np.isnan((1.0 - allowed) * -INF))
    y, pullback = attention(Q, K, V, mask=allowed)
    assert all(np.all(np.isfinite(x)) for x in (y, *pullback(DY)))
    np.testing.assert_array_equal(y, attention(Q, K, V, np.where(allowed, 0.0, -INF))[0])


@pytest.mark.parametrize("n_past", [0, 1, 4, 7])
def test_A6_the_causal_offset_is_the_length_of_the_past(n_past):
    """onnx 7297: row i of the queries stands at position n_past + i."""
    n_new = 8 - n_past
    whole = causal_mask(8, 8, like=Q)
    np.testing.assert_array_equal(causal_mask(n_new, 8, like=Q), whole[n_past:])


def test_A7_softcap_goes_before_the_mask():
    """onnx 7865: scores [3, 1, -inf, -inf], cap 2: after the mask 3.0 % leaks to the masked keys."""
    q, k = np.array([[1.0]]), np.array([[3.0], [1.0], [9.0], [9.0]])
    mask = np.array([[True, True, False, False]])
    weights, pullback = attention_weights(q, k, mask=mask, scale=1.0, softcap=2.0)
    np.testing.assert_array_equal(weights[0, 2:], 0.0)
    by_bias, _ = attention_weights(q, k, np.where(mask, 0.0, -INF), scale=1.0, softcap=2.0)
    np.testing.assert_array_equal(by_bias, weights)
    np.testing.assert_array_equal(pullback(np.ones((1, 4)))[1][2:], 0.0)

    # The wrong order, for comparison: the cap makes -2 of -inf, and 3.0 % of the weight leaks.
    capped = 2.0 * np.tanh(np.array([3.0, 1.0, -INF, -INF]) / 2.0)
    leaked = np.exp(capped)[2:].sum() / np.exp(capped).sum()
    assert f"{leaked:.3f}" == "0.030"


def test_A9_an_additive_mask_is_added_and_never_read_as_a_boolean(generator):
    """PyTorch 107084."""
    bias = generator.standard_normal((3, 5))
    scores = Q @ K.swapaxes(-1, -2) / 2.0 + bias
    want = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    weights, _ = attention_weights(Q, K, bias)
    # 20 roundings or so: of five products, their sum, exp, a sum of five and a division.
    assert np.all(np.abs(weights - want) <= 20 * np.finfo(np.float64).eps * want * (1.0 + np.abs(scores)))
    for numbers in (bias, np.zeros((3, 5)), np.ones((3, 5), np.float32), np.ones((3, 5), np.int64)):
        with pytest.raises(TypeError, match=r"mask must be a boolean .*, got dtype .*bias"):
            attention(Q, K, V, mask=numbers)


def test_A10_dropout_is_off_without_a_keep_mask():
    """PyTorch 124464: in evaluation there is no keep-mask, and a rate alone drops nothing."""
    y, pullback = attention(Q, K, V, rate=0.9)
    plain, plain_pullback = attention(Q, K, V)
    np.testing.assert_array_equal(y, plain)
    for got, want in zip(pullback(DY), plain_pullback(DY), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_A12_large_constant_input_leaves_finite_gradients(dtype):
    """PyTorch 119320."""
    x = np.full((2, 3, 4), 1e4, dtype)
    params = {"in_proj_weight": np.full((12, 4), 1e4, dtype), "out_proj.weight": np.ones((4, 4), dtype)}
    y, pullback = self_attention(x, params, n_head=2, mask=causal_mask(3, 3, like=x))
    dx, dparams = pullback(np.ones_like(x))
    for result in (y, dx, *dparams.values()):
        assert np.all(np.isfinite(result))
    # Keys that are all alike are weighed alike.
    weights, _ = attention_weights(x, x)
    np.testing.assert_array_equal(weights, np.full((2, 3, 3), 1.0 / dtype(3.0)))
