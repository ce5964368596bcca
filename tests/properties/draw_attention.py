"""How to draw calls of attention."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.layers.dropout import keep_mask
from tests.properties.component import Call
from tests.properties.draw_layers import SCALES, SEEDS


@st.composite
def _queries_and_keys(draw):
    *batch, n_query, n_key, d_head = draw(strategies.sizes(3, 5, max_side=5))
    q = draw(strategies.floating((*batch, n_query, d_head), scale=draw(SCALES)))
    k = draw(strategies.floating((*batch, n_key, d_head)))
    scores_shape = (*batch, n_query, n_key)
    settings = {
        "mask": draw(st.none() | strategies.masks(scores_shape)),
        "scale": draw(st.none() | st.just(0.3)),
        "softcap": draw(st.none() | st.just(2.0)),
    }
    kept = draw(strategies.masks(scores_shape)).shape
    bias = {} if draw(st.booleans()) else {"bias": draw(strategies.floating(kept))}
    return {"q": q, "k": k}, bias, settings, scores_shape


@st.composite
def attention_weights_calls(draw):
    arrays, bias, settings, _ = draw(_queries_and_keys())
    return Call(arrays | bias, None, settings, draw(SEEDS))


@st.composite
def attention_calls(draw):
    arrays, bias, settings, scores_shape = draw(_queries_and_keys())
    v = draw(strategies.floating((*arrays["k"].shape[:-1], draw(st.integers(1, 6)))))
    return Call(arrays | {"v": v} | bias, None, settings | draw(dropouts(scores_shape)), draw(SEEDS))


@st.composite
def dropouts(draw, scores_shape):
    rate = draw(st.sampled_from([0.0, 0.4]))
    return {"rate": rate, "keep": keep_mask(draw(strategies.generators()), scores_shape, rate=rate) if rate else None}


@st.composite
def head_settings(draw, n_head, shape):
    n_batch, n_query, n_key = shape
    mask_shape = draw(st.sampled_from([(n_query, n_key), (n_batch, n_head, n_query, n_key)]))
    mask = draw(st.none() | strategies.masks(mask_shape))
    return {"n_head": n_head, "mask": mask}


@st.composite
def multi_head_calls(draw):
    n_batch, n_query, n_key, n_head, d_head = draw(strategies.sizes(5, max_side=5))
    d_model = n_head * d_head
    d_key, d_value = (None, None) if draw(st.booleans()) else draw(strategies.sizes(2))
    arrays = {
        "q": draw(strategies.floating((n_batch, n_query, d_model), scale=draw(SCALES))),
        "k": draw(strategies.floating((n_batch, n_key, d_key or d_model))),
        "v": draw(strategies.floating((n_batch, n_key, d_value or d_model))),
    }
    params = draw(strategies.params(*strategies.multi_head_shapes(d_model, d_key, d_value)))
    settings = draw(head_settings(n_head, (n_batch, n_query, n_key)))
    return Call(arrays, params, settings | draw(dropouts((n_batch, n_head, n_query, n_key))), draw(SEEDS))


@st.composite
def self_attention_calls(draw):
    n_batch, n_seq, n_head, d_head = draw(strategies.sizes(4, max_side=4))
    x = draw(strategies.floating((n_batch, n_seq, n_head * d_head), scale=draw(SCALES)))
    params = draw(strategies.params(*strategies.multi_head_shapes(n_head * d_head)))
    settings = draw(head_settings(n_head, (n_batch, n_seq, n_seq)))
    return Call({"x": x}, params, settings | draw(dropouts((n_batch, n_head, n_seq, n_seq))), draw(SEEDS))


@st.composite
def cross_attention_calls(draw):
    n_batch, n_query, n_key, n_head, d_head = draw(strategies.sizes(5, max_side=5))
    d_model, d_memory = n_head * d_head, draw(st.none() | st.integers(1, 6))
    arrays = {
        "x": draw(strategies.floating((n_batch, n_query, d_model), scale=draw(SCALES))),
        "memory": draw(strategies.floating((n_batch, n_key, d_memory or d_model))),
    }
    params = draw(strategies.params(*strategies.multi_head_shapes(d_model, d_memory, d_memory)))
    settings = draw(head_settings(n_head, (n_batch, n_query, n_key)))
    return Call(arrays, params, settings | draw(dropouts((n_batch, n_head, n_query, n_key))), draw(SEEDS))
