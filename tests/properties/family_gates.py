"""Sigmoid, SiLU, gates, and the norm that goes with them."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.layers.gated import GATES, gated
from refimpl.layers.rms_norm import ORDERS, rms_norm
from refimpl.layers.sigmoid import sigmoid
from refimpl.layers.silu import silu
from tests.properties import draw_layers
from tests.properties.component import Call, Component
from tests.properties.draw_layers import SCALES, SEEDS

SMOOTH = st.sampled_from(["sigmoid", "silu", "gelu", "gelu_tanh", "tanh"])


@st.composite
def gated_calls(draw):
    *batch, half = draw(strategies.shapes(min_rank=1))
    x = draw(strategies.floating((*batch, 2 * half), scale=draw(SCALES)))
    settings = {"activation": draw(SMOOTH), "gate": draw(st.sampled_from(GATES))}
    return Call({"x": x}, None, settings, draw(SEEDS))


@st.composite
def rms_norm_calls(draw):
    x = draw(draw_layers.features(min_rank=1))
    params = draw(strategies.params({}, {"weight": x.shape[-1:]}))
    settings = {
        "eps": draw(st.sampled_from([1e-6, 0.1])),
        "weight_offset": draw(st.sampled_from([0.0, 1.0])),
        "order": draw(st.sampled_from(ORDERS)),
    }
    return Call({"x": x}, params, settings, draw(SEEDS))


COMPONENTS = [
    Component(sigmoid, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(silu, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(gated, gated_calls(), ("x",)),
    Component(rms_norm, rms_norm_calls(), ("x", "params")),
]
