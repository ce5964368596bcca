import numpy as np
import pytest
from hypothesis import given

from refimpl.attention.dot_product import attention
from refimpl.attention.grouped.attention import grouped_query_attention
from tests.properties import draw_grouped
from tests.properties.component import cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, spread_run

GENERATOR = np.random.default_rng(5)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 6, 3, 4), (2, 3, 5, 4), (2, 3, 5, 2)])


def test_one_key_head_serves_all():
    """Multi-query attention, by hand: query heads that ask differently gather from the same values."""
    q = 1e3 * np.array([[[[1.0, 0.0]], [[0.0, 1.0]], [[-1.0, 0.0]]]])
    k = np.array([[[[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]]])
    v = np.array([[[[3.0], [5.0], [7.0]]]])
    np.testing.assert_array_equal(grouped_query_attention(q, k, v)[0].ravel(), [3, 5, 7])


@given(draw_grouped.grouped_query_calls())
def test_every_head_is_attention_to_the_head_of_its_group(call):
    """Query head h attends to key head h // n_group, and its gradients go there: head by head, with `attention`."""
    component = component_of(grouped_query_attention)
    y, pullback = component(call)
    dy = cotangents(y, call.seed)
    got = {"y": y, **component.gradients(pullback, dy, call)}
    want = {name: np.zeros(x.shape) for name, x in got.items()}
    q, k, v, *bias = call.arrays.values()
    n_group = q.shape[1] // k.shape[1]
    masks = {name: call.settings[name] for name in ("mask", "keep")}
    for h in range(q.shape[1]):
        mine = {
            name: x if x is None or x.ndim < 3 or x.shape[-3] == 1 else x[..., [h], :, :] for name, x in masks.items()
        }
        own_bias = [b[..., [h], :, :] if b.ndim >= 3 and b.shape[-3] > 1 else b for b in bias]
        group = slice(h // n_group, h // n_group + 1)
        y_h, pullback_h = attention(q[:, h : h + 1], k[:, group], v[:, group], *own_bias, **{**call.settings, **mine})
        dq, dk, dv, *dbias = pullback_h(dy[:, h : h + 1])
        want["y"][:, h : h + 1], want["q"][:, h : h + 1] = y_h, dq
        want["k"][:, group] += dk
        want["v"][:, group] += dv
        for b, db in zip(bias, dbias, strict=True):
            place = (..., [h], slice(None), slice(None)) if b.ndim >= 3 and b.shape[-3] > 1 else (...,)
            want["bias"][place] += db
    y_spread, gradient_spreads = spread_run(component, call)
    assert_all_close(got, want, y_spread | gradient_spreads)


def test_as_many_key_heads_as_query_heads_is_attention_bit_for_bit():
    k, v = np.repeat(K, 2, axis=1), np.repeat(V, 2, axis=1)
    y, pullback = grouped_query_attention(Q, k, v)
    plain, plain_pullback = attention(Q, k, v)
    np.testing.assert_array_equal(y, plain)
    for got, want in zip(pullback(plain), plain_pullback(plain), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_permutation_within_a_group_permutes_the_output():
    order = [1, 0, 2, 3, 5, 4]
    y, _ = grouped_query_attention(Q, K, V)
    np.testing.assert_array_equal(grouped_query_attention(Q[:, order], K, V)[0], y[:, order])


def test_a_permutation_of_the_groups_permutes_the_output():
    y, _ = grouped_query_attention(Q, K, V)
    groups, heads = [2, 0, 1], [4, 5, 0, 1, 2, 3]
    np.testing.assert_array_equal(grouped_query_attention(Q[:, heads], K[:, groups], V[:, groups])[0], y[:, heads])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="n_kv_head must be a divisor of n_head = 6, got 4"):
        grouped_query_attention(Q, np.zeros((2, 4, 5, 4)), np.zeros((2, 4, 5, 2)))
    with pytest.raises(ValueError, match="n_kv_head must be a divisor of n_head = 6, got 0"):
        grouped_query_attention(Q, np.zeros((2, 0, 5, 4)), np.zeros((2, 0, 5, 2)))
    with pytest.raises(ValueError, match=r"k must have shape \(2, any, any, 4\), got \(3, 3, 5, 4\)"):
        grouped_query_attention(Q, np.zeros((3, 3, 5, 4)), V)
    with pytest.raises(ValueError, match=r"v must have shape \(2, 3, 5, any\), got \(2, 3, 4, 2\)"):
        grouped_query_attention(Q, K, V[:, :, :4])
    with pytest.raises(ValueError, match="q must have at least 3 axes"):
        grouped_query_attention(Q[0, 0], K, V)
    with pytest.raises(TypeError, match="k must have the dtype of q, float64, got float32"):
        grouped_query_attention(Q, K.astype(np.float32), V)
    with pytest.raises(TypeError, match="mask must be a boolean array"):
        grouped_query_attention(Q, K, V, mask=np.ones((3, 5)))
