import math

import numpy as np
import pytest
from hypothesis import given

from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.sinks import sink_attention, streaming_mask
from tests.properties import draw_grouped
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

EPS = np.finfo(np.float64).eps
GENERATOR = np.random.default_rng(5)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 2)])


def test_by_hand():
    """Two keys of score 0 and a sink of ln 2: weights 1/4, 1/4, and 1/2 that gathers nothing."""
    q, k, v = np.zeros((1, 1, 2)), np.ones((1, 2, 2)), np.array([[[4.0], [8.0]]])
    y, pullback = sink_attention(q, k, v, np.array([math.log(2.0)]))
    assert abs(y[0, 0, 0] - 3.0) <= 16 * EPS
    *_, dsink = pullback(np.ones((1, 1, 1)))
    # dy/dsink = -weight of the sink * y.
    assert abs(dsink[0] + 1.5) <= 16 * EPS


def test_a_sink_of_0_is_the_softmax_off_by_one():
    y, _ = sink_attention(np.zeros((1, 1, 2)), K[0, :1, :3, :2], np.ones((1, 3, 1)), np.zeros(1))
    assert y[0, 0, 0] == 0.75


def test_a_sink_of_minus_infinity_is_none():
    plain, plain_pullback = grouped_query_attention(Q, K, V)
    y, pullback = sink_attention(Q, K, V, np.full(4, -math.inf))
    sigma = spread_run(component_of(grouped_query_attention), Call({"q": Q, "k": K, "v": V}, None, {}))[0]["y"].sigma
    assert_close(y, plain, sigma, name="y")
    *gradients, dsink = pullback(plain)
    np.testing.assert_array_equal(dsink, 0.0)
    assert all(np.all(np.isfinite(x)) for x in (*gradients, *plain_pullback(plain)))


def test_a_huge_sink_takes_all():
    np.testing.assert_array_equal(sink_attention(Q, K, V, np.full(4, 1e4))[0], 0.0)


def test_every_head_has_its_own_sink():
    y, pullback = sink_attention(Q, K, V, np.array([0.0, 1e4, 0.0, 1e4]))
    assert np.all(np.any(y[:, ::2] != 0.0, axis=-1))
    np.testing.assert_array_equal(y[:, 1::2], 0.0)
    assert pullback(np.ones(y.shape))[3].shape == (4,)


def test_a_row_that_sees_nothing_leaves_all_to_the_sink():
    mask = np.ones((3, 5), bool)
    mask[1] = False
    y, pullback = sink_attention(Q, K, V, np.zeros(4), mask=mask)
    np.testing.assert_array_equal(y[:, :, 1], 0.0)
    dy = np.zeros(y.shape)
    dy[:, :, 1] = 1.0
    for gradient in pullback(dy):
        np.testing.assert_array_equal(gradient, 0.0)


@given(draw_grouped.sink_calls())
def test_the_sink_is_one_more_term_of_the_denominator(call):
    """In Python numbers, key by key."""
    component = component_of(sink_attention)
    y, _ = component(call)
    spreads, _ = spread_run(component, call)
    assert_close(y, _plain(**call.arrays, **call.settings), spreads["y"].sigma, name="y")


def _plain(q, k, v, sink, bias=0.0, *, mask, scale, softcap):
    n_batch, n_head, n_query, d_head = q.shape
    n_kv_head, n_key = k.shape[1:3]
    shape = (n_batch, n_head, n_query, n_key)
    mask, bias = np.broadcast_to(True if mask is None else mask, shape), np.broadcast_to(bias, shape)
    y = np.zeros((n_batch, n_head, n_query, v.shape[-1]))
    for b, h, i in np.ndindex(n_batch, n_head, n_query):
        g, scores = h // (n_head // n_kv_head), {}
        for j in range(n_key):
            score = math.fsum(q[b, h, i] * k[b, g, j]) * (d_head**-0.5 if scale is None else scale)
            score = score if softcap is None else softcap * math.tanh(score / softcap)
            if mask[b, h, i, j]:
                scores[j] = score + bias[b, h, i, j]
        highest = max([sink[h], *scores.values()])
        total = math.fsum([math.exp(sink[h] - highest), *(math.exp(score - highest) for score in scores.values())])
        for j, score in scores.items():
            y[b, h, i] += math.exp(score - highest) / total * v[b, g, j]
    return y


def test_streaming_mask_by_hand():
    mask = streaming_mask(4, 6, window=2, n_sink=1, like=Q)
    assert mask.astype(int).tolist() == [
        [1, 1, 1, 0, 0, 0],
        [1, 0, 1, 1, 0, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1, 1],
    ]


def test_a_window_as_long_as_the_text_is_the_causal_mask():
    for n_query, n_key in [(4, 4), (2, 5), (5, 2)]:
        np.testing.assert_array_equal(
            streaming_mask(n_query, n_key, window=5, n_sink=0, like=Q), causal_mask(n_query, n_key, like=Q)
        )


def test_sinks_are_never_seen_from_before():
    assert not np.any(np.triu(streaming_mask(5, 5, window=1, n_sink=3, like=Q), k=1))


def test_bad_input_is_refused():
    sink = np.zeros(4)
    with pytest.raises(ValueError, match=r"sink must have shape \(4,\), got \(2,\)"):
        sink_attention(Q, K, V, sink[:2])
    with pytest.raises(TypeError, match="sink must have the dtype of q, float64, got float32"):
        sink_attention(Q, K, V, sink.astype(np.float32))
    with pytest.raises(ValueError, match=r"bias must broadcast to \(2, 4, 3, 5\), got \(6,\)"):
        sink_attention(Q, K, V, sink, np.zeros(6))
    with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 4, 3, 5\), got \(3, 6\)"):
        sink_attention(Q, K, V, sink, mask=np.ones((3, 6), bool))
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        streaming_mask(3, 3, window=0, n_sink=1, like=Q)
    with pytest.raises(ValueError, match="n_sink must be at least 0, got -1"):
        streaming_mask(3, 3, window=1, n_sink=-1, like=Q)
