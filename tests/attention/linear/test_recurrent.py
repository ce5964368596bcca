import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.attention.linear.attention import causal_linear_attention
from refimpl.attention.linear.recurrent import recurrent_linear_attention
from tests.properties import draw_grouped
from tests.properties.component import cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

GENERATOR = np.random.default_rng(5)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 6, 3), (2, 6, 3), (2, 6, 5)])


@given(draw_grouped.linear_attention_calls(recurrent=True))
def test_it_is_causal_linear_attention(call):
    """Without a state: outputs, and the gradients that come from them."""
    for name in ("memory", "normaliser"):
        call.arrays.pop(name, None)
    recurrent, causal = component_of(recurrent_linear_attention), component_of(causal_linear_attention)
    y, pullback = causal(call)
    (output, memory, normaliser), recurrent_pullback = recurrent(call)
    dy = cotangents(y, call.seed)
    # The same dy for both, and none for the state that is left.
    gradients = recurrent_pullback((dy, 0.0 * memory, 0.0 * normaliser))
    y_spread, spreads = spread_run(causal, call)
    other_y_spread, other_spreads = spread_run(recurrent, call)
    assert_close(output, y, y_spread["y"].sigma + other_y_spread["y[0]"].sigma, name="y", n_rounded=1)
    for name, got, want in zip("qkv", gradients, pullback(dy), strict=True):
        assert_close(got, want, spreads[name].sigma + other_spreads[name].sigma, name=name, n_rounded=1)


@given(draw_grouped.linear_attention_calls(recurrent=True), st.data())
def test_a_text_may_be_cut_anywhere(call, data):
    """The state carries on bit for bit, and gradients flow back through it."""
    n_seq = call.arrays["q"].shape[-2]
    cut = data.draw(st.integers(0, n_seq))
    q, k, v, *state = call.arrays.values()
    (y, *end), pullback = recurrent_linear_attention(q, k, v, *state, **call.settings)
    first = [x[..., :cut, :] for x in (q, k, v)]
    second = [x[..., cut:, :] for x in (q, k, v)]
    (y1, *middle), pullback1 = recurrent_linear_attention(*first, *state, **call.settings)
    (y2, *end2), pullback2 = recurrent_linear_attention(*second, *middle, **call.settings)
    np.testing.assert_array_equal(np.concatenate([y1, y2], axis=-2), y)
    for got, want in zip(end2, end, strict=True):
        np.testing.assert_array_equal(got, want)
    dy, *dend = cotangents((y, *end), call.seed)
    *d2, dmemory, dnormaliser = pullback2((dy[..., cut:, :], *dend))
    d1 = pullback1((dy[..., :cut, :], dmemory, dnormaliser))
    whole = pullback((dy, *dend))
    for got1, got2, want in zip(d1, d2, whole, strict=False):
        np.testing.assert_array_equal(np.concatenate([got1, got2], axis=-2), want)
    for got, want in zip(d1[3:], whole[3:], strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_state_has_one_size_for_ever():
    (_, memory, normaliser), _ = recurrent_linear_attention(Q, K, V)
    assert memory.shape == (2, 3, 5)
    assert normaliser.shape == (2, 3)


def test_bad_input_is_refused():
    memory, normaliser = np.zeros((2, 3, 5)), np.ones((2, 3))
    with pytest.raises(ValueError, match="memory must be given with its normaliser"):
        recurrent_linear_attention(Q, K, V, memory)
    with pytest.raises(ValueError, match="memory must be given with its normaliser"):
        recurrent_linear_attention(Q, K, V, None, normaliser)
    with pytest.raises(ValueError, match=r"memory must have shape \(2, 3, 5\), got \(2, 3, 4\)"):
        recurrent_linear_attention(Q, K, V, memory[..., :4], normaliser)
    with pytest.raises(ValueError, match=r"normaliser must have shape \(2, 3\), got \(2, 2\)"):
        recurrent_linear_attention(Q, K, V, memory, normaliser[:, :2])
    with pytest.raises(ValueError, match=r"k must have shape \(2, 6, 3\), got \(2, 5, 3\)"):
        recurrent_linear_attention(Q, K[:, :5], V[:, :5])
    with pytest.raises(ValueError, match=r"v must have shape \(2, 6, any\), got \(2, 5, 5\)"):
        recurrent_linear_attention(Q, K, V[:, :5])
    with pytest.raises(TypeError, match="memory must have the dtype of q"):
        recurrent_linear_attention(Q, K, V, memory.astype(np.float32), normaliser)
