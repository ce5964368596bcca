"""How to draw calls of attention with grouped heads, latents, sinks or kernel features."""

from dataclasses import replace
from functools import partial

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from compare.cases.grouped_query_layer import layer_shapes
from compare.cases.latent import latent_shapes
from refimpl.attention.linear.attention import elu_plus_one
from refimpl.layers.softmax import softmax
from refimpl.positions.rotary import rotary
from tests.properties.component import Call
from tests.properties.draw_attention import attention_calls, dropouts
from tests.properties.draw_layers import SCALES, SEEDS

ROTATIONS = st.sampled_from([None, rotary, partial(rotary, layout="interleaved")])


@st.composite
def _grouped(draw):
    n_batch, n_kv_head, n_query, n_key = draw(strategies.sizes(4, max_side=4))
    # As many heads as rows would make a sink look like something with a batch.
    n_head = n_kv_head * draw(st.integers(1, 3).filter(lambda n_group: n_group * n_kv_head != n_batch))
    d_head, d_value = draw(strategies.sizes(2, max_side=5))
    arrays = {
        "q": draw(strategies.floating((n_batch, n_head, n_query, d_head), scale=draw(SCALES))),
        "k": draw(strategies.floating((n_batch, n_kv_head, n_key, d_head))),
        "v": draw(strategies.floating((n_batch, n_kv_head, n_key, d_value))),
    }
    scores_shape = (n_batch, n_head, n_query, n_key)
    settings = {
        "mask": draw(st.none() | strategies.masks(scores_shape)),
        "scale": draw(st.none() | st.just(0.3)),
        "softcap": draw(st.none() | st.just(2.0)),
    }
    bias = (
        {} if draw(st.booleans()) else {"bias": draw(strategies.floating(draw(strategies.masks(scores_shape)).shape))}
    )
    return arrays, bias, settings, scores_shape


@st.composite
def grouped_query_calls(draw):
    arrays, bias, settings, scores_shape = draw(_grouped())
    return Call(arrays | bias, None, settings | draw(dropouts(scores_shape)), draw(SEEDS))


@st.composite
def sink_calls(draw):
    arrays, bias, settings, scores_shape = draw(_grouped())
    sink = {"sink": draw(strategies.floating(scores_shape[1:2], scale=draw(SCALES)))}
    return Call(arrays | sink | bias, None, settings, draw(SEEDS))


@st.composite
def with_weights_calls(draw):
    call = draw(attention_calls())
    settings = {name: x for name, x in call.settings.items() if name not in ("keep", "rate")}
    return replace(call, settings=settings)


@st.composite
def grouped_query_layer_calls(draw):
    n_batch, n_seq, n_kv_head, d_model = draw(strategies.sizes(4, max_side=4))
    n_head = n_kv_head * draw(st.integers(1, 3))
    sizes = {"n_head": n_head, "n_kv_head": n_kv_head, "d_head": 2 * draw(st.integers(1, 2))}
    all_shapes, required = (layer_shapes(d_model, **sizes, biased=biased) for biased in (True, False))
    optional = {key: shape for key, shape in all_shapes.items() if key not in required}
    settings = {"n_head": n_head, "n_kv_head": n_kv_head, "rotate": draw(ROTATIONS)}
    return _layer_call(draw, (n_batch, n_seq, d_model), required, optional, settings)


@st.composite
def latent_calls(draw):
    n_batch, n_seq, n_head, d_model = draw(strategies.sizes(4, max_side=4))
    d_nope, d_value, d_latent, d_low = draw(strategies.sizes(4, max_side=5))
    sizes = {"n_head": n_head, "d_nope": d_nope, "d_rope": 2, "d_value": d_value, "d_latent": d_latent}
    sizes["d_low"] = d_low if draw(st.booleans()) else None
    all_shapes, required = (latent_shapes(d_model, **sizes, biased=biased) for biased in (True, False))
    optional = {key: shape for key, shape in all_shapes.items() if key not in required}
    settings = {"n_head": n_head, "rotate": draw(ROTATIONS), "eps": draw(st.sampled_from([1e-6, 0.1]))}
    return _layer_call(draw, (n_batch, n_seq, d_model), required, optional, settings)


def _layer_call(draw, shape, required, optional, settings):
    n_batch, n_seq, _ = shape
    x = draw(strategies.floating(shape, scale=draw(SCALES)))
    params = draw(strategies.params(required, optional))
    mask_shape = draw(st.sampled_from([(n_seq, n_seq), (n_batch, settings["n_head"], n_seq, n_seq)]))
    settings["mask"] = draw(st.none() | strategies.masks(mask_shape))
    return Call({"x": x}, params, settings, draw(SEEDS))


@st.composite
def linear_attention_calls(draw, *, recurrent=False):
    *lead, n_query, n_key, d_head = draw(strategies.sizes(3, 5, max_side=5))
    n_query = n_key if recurrent else n_query
    d_value = draw(st.integers(1, 6))
    arrays = {
        "q": draw(strategies.floating((*lead, n_query, d_head))),
        "k": draw(strategies.floating((*lead, n_key, d_head))),
        "v": draw(strategies.floating((*lead, n_key, d_value), scale=draw(SCALES))),
    }
    settings = {"feature_map": draw(st.sampled_from([elu_plus_one, softmax]))}
    if not recurrent:
        settings["is_token"] = draw(st.none() | strategies.masks((1, n_key), may_broadcast=False).map(lambda x: x[0]))
    elif draw(st.booleans()):
        arrays["memory"] = draw(strategies.floating((*lead, d_head, d_value)))
        # Sums of positive features; other ones could cancel those of the new keys.
        arrays["normaliser"] = 1.0 + np.abs(draw(strategies.floating((*lead, d_head))))
    return Call(arrays, None, settings, draw(SEEDS))
