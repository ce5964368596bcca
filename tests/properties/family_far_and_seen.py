"""Longformer, which reads far, and CLIP, which sees; and their parts."""

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from refimpl.blocks.contrast import contrast
from refimpl.blocks.longformer_block import longformer_block
from refimpl.checkpoints.families.clip.names import clip_rows
from refimpl.checkpoints.families.longformer.names import longformer_rows
from refimpl.layers.patches import patches
from refimpl.layers.quick_gelu import quick_gelu
from refimpl.layers.unit import unit_vectors
from refimpl.models.clip import config as clip_config
from refimpl.models.clip.image import clip_image
from refimpl.models.clip.model import clip
from refimpl.models.clip.text import clip_text
from refimpl.models.longformer import config as longformer_config
from refimpl.models.longformer.embeddings import longformer_embeddings
from refimpl.models.longformer.model import longformer
from tests.properties import draw_layers
from tests.properties.component import Call, Component
from tests.properties.draw_layers import SCALES, SEEDS, ids_but
from tests.properties.draw_models import EPS
from tests.properties.draw_t5 import token_masks


@st.composite
def patches_calls(draw):
    n_batch, n_channel, n_row, n_column, d_model = draw(strategies.sizes(5, max_side=5))
    side = draw(st.integers(1, 3))
    x = draw(strategies.floating((n_batch, n_channel, n_row * side, n_column * side), scale=draw(SCALES)))
    params = draw(strategies.params({"weight": (d_model, n_channel, side, side)}, {"bias": (d_model,)}))
    return Call({"x": x}, params, {}, draw(SEEDS))


@st.composite
def contrast_calls(draw):
    shape = draw(strategies.shapes(min_rank=2, max_rank=2))
    arrays = {name: draw(strategies.floating(shape)) for name in ("a", "b")}
    return Call(arrays, draw(strategies.params({"logit_scale": ()})), {}, draw(SEEDS))


@st.composite
def longformer_configs(draw):
    n_head = draw(st.integers(1, 2))
    return longformer_config.LongformerConfig(
        vocab_size=draw(st.integers(3, 9)), n_position=9, n_segment=draw(st.integers(1, 2)), d_model=3 * n_head,
        n_head=n_head, reaches=draw(st.sampled_from([(1,), (1, 2)])), d_ff=draw(st.integers(2, 6)), norm_eps=draw(EPS),
        activation=draw(st.sampled_from(longformer_config.ACTIVATIONS)), pad_id=draw(st.integers(0, 1)),
    )  # fmt: skip


def _of(config, prefix):
    shapes = {row.ours: row.our_shape for row in longformer_rows(config)}
    return {key.removeprefix(prefix): shape for key, shape in shapes.items() if key.startswith(prefix)}


def global_ids(draw, n_batch, n_seq):
    generator = draw(strategies.generators())
    return generator.random((n_batch, n_seq + 1)).argsort(1)[:, : draw(st.integers(0, 2))]


@st.composite
def longformer_block_calls(draw):
    config = draw(longformer_configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 5), (3, 2), (2, 4)]))
    arrays = {"x": draw(strategies.floating((n_batch, n_seq, config.d_model)))}
    arrays["global_ids"] = global_ids(draw, n_batch, n_seq)
    mask = draw(token_masks(n_batch, n_seq))
    settings = {
        "n_head": config.n_head, "reach": 1, "eps": config.norm_eps, "activation": config.activation,
        "mask": None if mask is None else mask[:, None, None],
    }  # fmt: skip
    return Call(arrays, draw(strategies.params(_of(config, "encoder.layers.0."))), settings, draw(SEEDS))


@st.composite
def longformer_calls(draw, *, whole=True):
    config = draw(longformer_configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 5), (3, 2), (2, 4)]))
    arrays = {
        "token_ids": draw(ids_but((n_batch, n_seq), config.vocab_size, config.pad_id)),
        "segment_ids": draw(strategies.ids((n_batch, n_seq), config.n_segment)),
    }
    if not whole:
        return Call(arrays, draw(strategies.params(_of(config, "embeddings."))), {"config": config}, draw(SEEDS))
    arrays["global_ids"] = global_ids(draw, n_batch, n_seq)
    shapes = {row.ours: row.our_shape for row in longformer_rows(config) if row.group == "encoder"}
    settings = {"config": config, "mask": draw(token_masks(n_batch, n_seq))}
    return Call(arrays, draw(strategies.params(shapes)), settings, draw(SEEDS))


@st.composite
def towers(draw):
    n_head = draw(st.integers(1, 2))
    return clip_config.TowerConfig(
        d_model=3 * n_head, n_head=n_head, n_layer=draw(st.integers(1, 2)), d_ff=draw(st.integers(2, 5)),
        norm_eps=draw(EPS), activation=draw(st.sampled_from(clip_config.ACTIVATIONS)),
    )  # fmt: skip


@st.composite
def clip_calls(draw, part):
    vocab_size = draw(st.integers(3, 9))
    config = clip_config.ClipConfig(
        text=draw(towers()), image=draw(towers()), vocab_size=vocab_size, n_position=draw(st.integers(4, 6)),
        image_size=4, patch_size=draw(st.sampled_from([2, 4])), n_channel=draw(st.integers(1, 2)),
        d_shared=draw(st.integers(2, 5)), eos_id=draw(st.none() | st.integers(0, vocab_size - 1)),
    )  # fmt: skip
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3)]))
    arrays, settings = {}, {"config": config}
    if part != "text.":
        arrays["images"] = draw(strategies.floating((n_batch, config.n_channel, 4, 4)))
    if part != "image.":
        arrays["token_ids"] = draw(strategies.ids((n_batch, n_seq), vocab_size))
        settings["mask"] = draw(token_masks(n_batch, n_seq))
    shapes = {row.ours.removeprefix(part): row.our_shape for row in clip_rows(config) if row.ours.startswith(part)}
    return Call(arrays, draw(strategies.params(shapes)), settings, draw(SEEDS))


def nonzero(call):
    """Leave no vector 0: it has no direction."""
    return call.map_leaves(lambda x: x + 0.1 * (np.abs(x).max(-1, keepdims=True) == 0.0) if x.ndim else x)


COMPONENTS = [
    Component(quick_gelu, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(unit_vectors, draw_layers.pointwise_calls().map(nonzero), ("x",)),
    Component(patches, patches_calls(), ("x", "params"), curved=False, batch_rank=4),
    # Every row of a batch is told from the others: their order means nothing, but their number does.
    Component(contrast, contrast_calls().map(nonzero), ("a", "b", "params"), batch_rank=9),
    Component(longformer_block, longformer_block_calls(), ("x", "params"), curved=False, weight=4),
    Component(longformer_embeddings, longformer_calls(whole=False), ("params",), curved=False, weight=2),
    Component(longformer, longformer_calls(), ("params",), curved=False, weight=8),
    Component(clip_image, clip_calls("image."), ("images", "params"), curved=False, batch_rank=4, weight=8),
    Component(clip_text, clip_calls("text."), ("params",), curved=False, weight=8),
    Component(clip, clip_calls(""), ("images", "params"), curved=False, batch_rank=9, weight=8),
]
