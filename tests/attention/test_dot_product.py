import math

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.mask import causal_mask

INF = math.inf
Q = np.array([[0.0, 0.0], [2.0, 0.0]])
K = np.array([[1.0, 5.0], [1.0, -3.0], [0.0, 1.0]])
V = np.array([[4.0], [8.0], [12.0]])


def test_by_hand():
    """A query of zeros weighs all alike; scores ln 2 and 0 weigh 2 to 1."""
    y, pullback = attention(Q[:1], K, V)
    np.testing.assert_array_equal(attention_weights(Q[:1], K)[0], [[1 / 3] * 3])
    assert abs(y[0, 0] - 8.0) <= 8 * np.finfo(np.float64).eps  # the rounding of a third, and of three products
    dq, dk, dv = pullback(np.ones((1, 1)))
    np.testing.assert_array_equal(dv, [[1 / 3]] * 3)
    np.testing.assert_array_equal(dk, np.zeros((3, 2)))
    # dscores are (4 - 8, 8 - 8, 12 - 8) / 3: dq is their sum over the keys, divided by sqrt(2).
    want = np.array([[-4 / 3, (-4 * 5 + 4) / 3]]) / math.sqrt(2.0)
    assert np.all(np.abs(dq - want) <= 8 * np.finfo(np.float64).eps * np.abs(want))
    weights, _ = attention_weights(np.array([[math.log(2.0)]]), np.array([[1.0], [0.0]]))
    np.testing.assert_array_equal(weights * 3.0, [[2, 1]])


def test_the_scale_is_one_over_the_root_of_d_head():
    q, k = np.ones((1, 4)), np.array([[1.0] * 4, [0.0] * 4])
    assert attention_weights(q, k)[0][0, 0] == 1.0 / (1.0 + math.exp(-2.0))
    assert attention_weights(q, k, scale=0.25)[0][0, 0] == 1.0 / (1.0 + math.exp(-1.0))


def test_one_hot_attention_is_a_lookup():
    q = 1e3 * np.eye(3)[[2, 0, 1, 2]]
    np.testing.assert_array_equal(attention(q, np.eye(3), V)[0], V[[2, 0, 1, 2]])


def test_a_bias_is_added():
    y, _ = attention_weights(np.zeros((1, 2)), K, np.array([math.log(2.0), 0.0, -INF]))
    np.testing.assert_array_equal(y * 3.0, [[2, 1, 0]])


def test_a_bias_of_minus_infinity_is_a_mask():
    mask = np.array([[True, False, True], [False, True, True]])
    bias = np.where(mask, 0.0, -INF)
    by_mask, mask_pullback = attention(Q, K, V, mask=mask)
    by_bias, bias_pullback = attention(Q, K, V, bias)
    np.testing.assert_array_equal(by_bias, by_mask)
    *gradients, dbias = bias_pullback(np.ones((2, 1)))
    for got, want in zip(gradients, mask_pullback(np.ones((2, 1))), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(dbias[~mask], 0.0)


def test_the_gradient_of_a_bias_has_its_shape():
    for shape in [(3,), (1, 3), (2, 1), (2, 3), (1, 1)]:
        _, pullback = attention(Q, K, V, np.zeros(shape))
        assert pullback(np.ones((2, 1)))[3].shape == shape


def test_softcap_by_hand():
    """Scores 2 tanh(3 / 2) and 2 tanh(1 / 2)."""
    y, _ = attention_weights(np.ones((1, 1)), np.array([[3.0], [1.0]]), scale=1.0, softcap=2.0)
    difference = 2.0 * math.tanh(1.5) - 2.0 * math.tanh(0.5)
    assert abs(y[0, 0] - 1.0 / (1.0 + math.exp(-difference))) <= 8 * np.finfo(np.float64).eps


def test_dropout_only_with_a_keep_mask():
    plain, _ = attention(Q, K, V)
    np.testing.assert_array_equal(attention(Q, K, V, rate=0.5)[0], plain)
    keep = np.array([[True, True, True], [True, False, True]])
    dropped, pullback = attention(Q, K, V, keep=keep, rate=0.5)
    np.testing.assert_array_equal(dropped[0], 2.0 * plain[0])
    assert dropped[1, 0] != plain[1, 0]
    np.testing.assert_array_equal(pullback(np.array([[0.0], [1.0]]))[2][1], 0.0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_large_constants_leave_finite_gradients(dtype):
    ones = np.full((2, 3), 1e4)
    q = narrow(ones, dtype) if dtype == "bfloat16" else ones.astype(dtype)
    y, pullback = attention(q, q, q)
    np.testing.assert_array_equal(y, q)
    assert all(np.all(np.isfinite(gradient)) for gradient in pullback(y))


@pytest.mark.parametrize(("n_query", "n_key"), [(0, 3), (2, 0), (0, 0)])
def test_zero_sizes(n_query, n_key):
    y, pullback = attention(Q[:n_query], K[:n_key], V[:n_key], mask=causal_mask(n_query, n_key, like=Q))
    np.testing.assert_array_equal(y, np.zeros((n_query, 1)))
    shapes = [gradient.shape for gradient in pullback(y)]
    assert shapes == [(n_query, 2), (n_key, 2), (n_key, 1)]


@pytest.mark.parametrize("f", [attention_weights, lambda q, k, **settings: attention(q, k, V, **settings)])
@pytest.mark.parametrize(
    ("q", "k", "settings", "error", "message"),
    [
        (Q[0], K, {}, ValueError, "must have at least 2 axes, got shape"),
        (Q, K[0], {}, ValueError, r"k must have (at least 2 axes|shape \(any, 2\)), got"),
        (Q, K[:, :1], {}, ValueError, r"k must have shape \(any, 2\), got \(3, 1\)"),
        (Q[:, :0], K[:, :0], {}, ValueError, "d_head must be at least 1, got 0"),
        (Q, K, {"softcap": 0.0}, ValueError, "softcap must be positive, got 0.0"),
        (Q, K, {"softcap": -1.0}, ValueError, "softcap must be positive, got -1.0"),
        (Q, K, {"mask": np.zeros((2, 3))}, TypeError, "mask must be a boolean .*got dtype float64.*the bias"),
        (Q, K, {"mask": np.ones((2, 3), int)}, TypeError, "mask must be a boolean .*got dtype int64"),
        (Q, K, {"mask": np.ones((3, 2), bool)}, ValueError, r"mask must broadcast to \(2, 3\), got \(3, 2\)"),
        (Q, K, {"bias": np.ones((3, 2))}, ValueError, r"bias must broadcast to \(2, 3\), got \(3, 2\)"),
        (Q, K, {"bias": np.ones((2, 3), bool)}, TypeError, "bias must be a floating array, got dtype bool"),
        (Q, K.astype(np.float32), {}, TypeError, "k must have the dtype of q, float64, got float32"),
        (Q.astype(int), K, {}, TypeError, "q must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(f, q, k, settings, error, message):
    with pytest.raises(error, match=message):
        f(q, k, **settings)


@pytest.mark.parametrize(
    ("v", "settings", "error", "message"),
    [
        (V[:2], {}, ValueError, r"v must have shape \(3, any\), got \(2, 1\)"),
        (V.astype(np.float32), {}, TypeError, "v must have the dtype of q, float64, got float32"),
        (V, {"keep": np.ones((2, 1), bool), "rate": 0.5}, ValueError, r"keep must have shape \(2, 3\), got \(2, 1\)"),
        (V, {"keep": np.ones((2, 3)), "rate": 0.5}, TypeError, "keep must be a boolean array"),
        (V, {"keep": np.ones((2, 3), bool), "rate": 2.0}, ValueError, r"rate must be in \[0, 1\], got 2.0"),
    ],
)
def test_bad_values_and_dropout(v, settings, error, message):
    with pytest.raises(error, match=message):
        attention(Q, K, v, **settings)
