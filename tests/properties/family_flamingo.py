"""Flamingo and its parts."""

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from compare.cases.flamingo import draw_gates, flamingo_params, gated_shapes, resampler_shapes
from refimpl.blocks.gated_cross_block import gated_cross_block
from refimpl.blocks.perceiver import perceiver_block, perceiver_resampler
from refimpl.layers.squared_relu import squared_relu
from refimpl.models.flamingo.config import FlamingoConfig
from refimpl.models.flamingo.model import flamingo
from tests.properties import draw_layers
from tests.properties.component import Call, Component
from tests.properties.draw_attention import head_settings
from tests.properties.draw_layers import SEEDS
from tests.properties.draw_models import EPS


@st.composite
def resampler_calls(draw, *, whole=True):
    n_head, n_batch, n_latent, n_patch = draw(st.integers(1, 2)), *draw(strategies.sizes(3, max_side=3))
    d_model, n_layer, n_time = 3 * n_head, draw(st.integers(1, 2)), draw(st.integers(1, 2))
    shapes = resampler_shapes(d_model, draw(st.integers(2, 5)), n_layer, n_latent, n_time)
    settings = {"n_head": n_head, "eps": draw(EPS)}
    if whole:
        features = draw(strategies.floating((n_batch, n_time, n_patch, d_model)))
        params = draw(strategies.params(shapes))
        return Call({"features": features}, params, settings | {"n_layer": n_layer}, draw(SEEDS))
    arrays = {
        "latents": draw(strategies.floating((n_batch, n_latent, d_model))),
        "features": draw(strategies.floating((n_batch, n_patch, d_model))),
    }
    block = {key.removeprefix("layers.0."): shape for key, shape in shapes.items() if key.startswith("layers.0.")}
    return Call(arrays, draw(strategies.params(block)), settings, draw(SEEDS))


@st.composite
def gated_calls(draw):
    n_batch, n_query, n_key, n_head, d_memory = draw(strategies.sizes(5, max_side=5))
    d_model = 3 * n_head
    arrays = {
        "x": draw(strategies.floating((n_batch, n_query, d_model))),
        "memory": draw(strategies.floating((n_batch, n_key, d_memory))),
    }
    params = draw(strategies.params(gated_shapes(d_model, draw(st.integers(2, 5)), d_memory)))
    mask = draw(head_settings(n_head, (n_batch, n_query, n_key)))["mask"]
    settings = {"n_head": n_head, "eps": draw(EPS), "memory_mask": mask}
    return Call(arrays, params | draw_gates(draw(strategies.generators()), ""), settings, draw(SEEDS))


@st.composite
def flamingo_calls(draw):
    n_head = draw(st.integers(1, 2))
    n_layer, every = draw(st.sampled_from([(1, 1), (2, 1), (3, 2)]))
    config = FlamingoConfig(
        vocab_size=draw(st.integers(3, 9)), n_position=5, d_model=3 * n_head, n_head=n_head, n_layer=n_layer,
        d_ff=draw(st.integers(2, 5)), every=every, image_id=draw(st.integers(0, 2)), d_visual=4, n_visual_head=2,
        n_visual_layer=1, d_visual_ff=draw(st.integers(2, 5)), n_latent=draw(st.integers(1, 3)), n_time=2,
        norm_eps=draw(EPS),
    )  # fmt: skip
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3)]))
    features = draw(strategies.floating((n_batch, n_seq, draw(st.integers(1, 2)), 2, config.d_visual)))
    arrays = {"features": features, "token_ids": draw(strategies.ids((n_batch, n_seq), config.vocab_size))}
    params = flamingo_params(draw(strategies.generators()), config)
    return Call(arrays, {key: np.asarray(x) for key, x in params.items()}, {"config": config}, draw(SEEDS))


COMPONENTS = [
    Component(squared_relu, draw_layers.pointwise_calls(), ("x",), curved=False, batch_rank=1),
    Component(
        perceiver_block, resampler_calls(whole=False), ("latents", "features", "params"), curved=False, batch_rank=3,
        weight=4,
    ),
    Component(perceiver_resampler, resampler_calls(), ("features", "params"), curved=False, batch_rank=4, weight=8),
    Component(gated_cross_block, gated_calls(), ("x", "memory", "params"), curved=False, batch_rank=3, weight=4),
    Component(flamingo, flamingo_calls(), ("features", "params"), curved=False, batch_rank=5, weight=8),
]  # fmt: skip
