"""How to draw calls of decoder-only models and their block."""

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from refimpl.models.decoder.attend import Attend
from refimpl.models.decoder.config import PROJECTIONS, DecoderConfig, decoder_shapes
from refimpl.models.decoder.parts import Alibi, Dense, LayerNorm, RmsNorm, Rotary
from tests.properties.component import Call
from tests.properties.draw_layers import SCALES, SEEDS

NORMS = st.sampled_from([RmsNorm(1e-2), LayerNorm(1e-2)])
FEEDS = st.builds(Dense, st.integers(1, 4), st.sampled_from(["silu", "gelu"]), st.booleans(), st.booleans())


@st.composite
def configs(draw):
    n_kv_head, half, d_model, vocab_size = draw(strategies.sizes(4, min_side=2, max_side=5))
    fused = draw(st.booleans())
    return DecoderConfig(
        vocab_size=vocab_size,
        d_model=d_model + 1,
        n_head=2 * n_kv_head if draw(st.booleans()) else n_kv_head,
        n_kv_head=n_kv_head,
        d_head=2 * min(half, 2),
        feeds=tuple(draw(st.lists(FEEDS, min_size=1, max_size=2))),
        norm=draw(NORMS),
        positions=draw(st.sampled_from([Rotary(30.0), Rotary(30.0, d_rotary=2), Alibi()])),
        parallel=draw(st.booleans()),
        biased=draw(st.sampled_from([(), PROJECTIONS, PROJECTIONS[:3]])),
        fused=fused,
        embedding_norm=draw(st.booleans()),
        window=draw(st.none() | st.integers(1, 3)),
        tied=draw(st.booleans()),
    )


@st.composite
def decoder_calls(draw, *, headed=False):
    config = draw(configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3), (2, 1)]))
    arrays = {"token_ids": draw(strategies.ids((n_batch, n_seq), config.vocab_size))}
    sizes = {key: shape for key, shape in decoder_shapes(config).items() if headed or key != "head.weight"}
    settings = {"config": config, "mask": draw(st.none() | strategies.masks((n_batch, n_seq), may_broadcast=False))}
    return Call(arrays, draw(strategies.params(sizes)), settings, draw(SEEDS))


@st.composite
def embed_calls(draw):
    config = draw(configs())
    arrays = {"token_ids": draw(strategies.ids(draw(st.sampled_from([(1, 4), (3, 2)])), config.vocab_size))}
    sizes = {key: shape for key, shape in decoder_shapes(config).items() if key.startswith("embeddings.")}
    params = draw(strategies.params({key.removeprefix("embeddings."): shape for key, shape in sizes.items()}))
    return Call(arrays, params, {"config": config}, draw(SEEDS))


@st.composite
def causal_block_calls(draw):
    config = draw(configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3)]))
    x = draw(strategies.floating((n_batch, n_seq, config.d_model)))
    layer = {key: shape for key, shape in decoder_shapes(config).items() if key.startswith("layers.0.")}
    params = draw(strategies.params({key.removeprefix("layers.0."): shape for key, shape in layer.items()}))
    attend = Attend(config.attention_settings())  # a mask inside a part is none that a check could find
    parts = {"norm": config.norm, "attend": attend, "feed": config.feeds[0], "parallel": config.parallel}
    return Call({"x": x}, params, parts, draw(SEEDS))


@st.composite
def next_token_loss_calls(draw):
    n_batch, n_seq, vocab_size = draw(strategies.sizes(3, max_side=5))
    logits = draw(strategies.floating((n_batch, n_seq, vocab_size), scale=draw(SCALES)))
    targets = draw(strategies.ids((n_batch, n_seq), vocab_size))
    ignored = draw(strategies.generators()).random(targets.shape) < 0.3
    return Call({"logits": logits, "targets": np.where(ignored, -100, targets)}, None, {}, draw(SEEDS))
