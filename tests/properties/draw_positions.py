"""How to draw calls of positions."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.positions import rotary, sinusoidal
from refimpl.positions.rotary_scaling import (
    DynamicNtkScaling,
    LinearScaling,
    Llama3Scaling,
    NtkScaling,
    Unscaled,
    YarnScaling,
)
from tests.properties.component import Call
from tests.properties.draw_layers import SEEDS, features

FARTHEST = 5000
SCALINGS = st.sampled_from(
    [
        None, Unscaled(), LinearScaling(4.0), NtkScaling(4.0), DynamicNtkScaling(2.0, 8), YarnScaling(4.0, 64, 8.0),
        Llama3Scaling(8.0, 64),
    ]
)  # fmt: skip
LAYOUTS = st.sampled_from(rotary.LAYOUTS)
BASES = st.sampled_from([10000.0, 500.0])


@st.composite
def places(draw, n_seq):
    """An offset, or a position for every vector."""
    if draw(st.booleans()):
        return {"offset": draw(st.integers(0, FARTHEST))}
    return {"positions": draw(strategies.ids((n_seq,), FARTHEST))}


@st.composite
def rotary_calls(draw):
    *lead, half = draw(strategies.shapes(min_rank=2))
    n_after = draw(st.integers(0, 3))
    x = draw(strategies.floating((*lead, 2 * half + n_after)))
    settings = {"d_rotary": 2 * half, "base": draw(BASES), "scaling": draw(SCALINGS), "layout": draw(LAYOUTS)}
    return Call({"x": x}, None, settings | draw(places(lead[-1])), draw(SEEDS))


@st.composite
def sinusoidal_calls(draw):
    x = draw(features(min_rank=2))
    settings = {"base": draw(BASES), "layout": draw(st.sampled_from(sinusoidal.LAYOUTS))}
    return Call({"x": x}, None, settings | draw(places(x.shape[-2])), draw(SEEDS))


@st.composite
def bucketed_calls(draw):
    n_head, n_query, n_key = draw(strategies.sizes(3, max_side=9))
    params = draw(strategies.params({"weight": (2 * draw(st.integers(2, 8)), n_head)}))
    settings = {"n_query": n_query, "n_key": n_key, "max_distance": draw(st.integers(9, 30))}
    return Call({}, params, settings | {"bidirectional": draw(st.booleans())}, draw(SEEDS))


@st.composite
def shaw_calls(draw):
    n_query, n_key, d_head, d_value = draw(strategies.sizes(4))
    lead = draw(strategies.shapes(min_rank=0, max_rank=2))
    shapes = {"q": (*lead, n_query, d_head), "k": (*lead, n_key, d_head), "v": (*lead, n_key, d_value)}
    arrays = {name: draw(strategies.floating(shape)) for name, shape in shapes.items()}
    n_row = 2 * draw(st.integers(0, 4)) + 1
    params = draw(
        strategies.params({"relative_key.weight": (n_row, d_head)}, {"relative_value.weight": (n_row, d_value)})
    )
    mask = draw(st.none() | strategies.masks((*lead, n_query, n_key)))
    return Call(arrays, params, {"mask": mask}, draw(SEEDS))


@st.composite
def extension_calls(draw, **settings):
    weight = draw(features(max_rank=2))
    more = {name: draw(value) for name, value in settings.items()}
    return Call({"weight": weight}, None, {"n_position": len(weight) + draw(st.integers(0, 9)), **more}, draw(SEEDS))
