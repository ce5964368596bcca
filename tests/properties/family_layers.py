"""Log-sum-exp, and the feed-forward network of gates."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.layers.softmax import logsumexp
from tests.properties import draw_layers
from tests.properties.component import Call, Component

SMOOTH = st.sampled_from(["sigmoid", "silu", "gelu", "gelu_tanh", "tanh"])


@st.composite
def gated_feed_forward_calls(draw):
    *batch, d_model, d_ff = draw(strategies.shapes(min_rank=2))
    x = draw(strategies.floating((*batch, d_model)))
    maps = {"gate_proj.": (d_model, d_ff), "up_proj.": (d_model, d_ff), "down_proj.": (d_ff, d_model)}
    shapes = [strategies.scoped(name, strategies.linear_shapes(*sizes)) for name, sizes in maps.items()]
    required, optional = ({key: shape for part in shapes for key, shape in part[i].items()} for i in range(2))
    params = draw(strategies.params(required, optional))
    return Call({"x": x}, params, {"activation": draw(SMOOTH)}, draw(draw_layers.SEEDS))


@st.composite
def logsumexp_calls(draw):
    """Over any axis but that of the batch, which would be gone."""
    x = draw(draw_layers.features(min_rank=1))
    return Call({"x": x}, None, {"axis": draw(st.integers(min(1, x.ndim - 1), x.ndim - 1))}, draw(draw_layers.SEEDS))


COMPONENTS = [
    Component(logsumexp, logsumexp_calls(), ("x",)),
    Component(gated_feed_forward, gated_feed_forward_calls(), ("x", "params")),
]
