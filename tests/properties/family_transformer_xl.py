"""Transformer-XL, its blocks and memory, and the layers of its vocabulary."""

from refimpl.blocks.relative.block import relative_post_norm_block, relative_pre_norm_block
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.blocks.relative.stack import relative_stack
from refimpl.layers.adaptive_embedding import adaptive_embedding
from refimpl.layers.adaptive_softmax import adaptive_cross_entropy, adaptive_log_softmax
from refimpl.models.transformer_xl.heads import transformer_xl_lm, transformer_xl_loss
from refimpl.models.transformer_xl.model import transformer_xl
from refimpl.models.transformer_xl.segments import transformer_xl_segments
from tests.properties import draw_transformer_xl as draw
from tests.properties.component import Component

NEVER = 9  # the batch of a memory is its second axis
BLOCK = ("x", "memory", "relative", "params")
BOTH = ("backbone", "softmax")

COMPONENTS = [
    Component(adaptive_embedding, draw.embedding_calls(), ("params",), curved=False, batch_rank=1),
    Component(adaptive_log_softmax, draw.softmax_calls(), ("x", "params"), weight=2),
    Component(adaptive_cross_entropy, draw.softmax_calls(with_targets=True), ("x", "params"), weight=2),
    Component(relative_post_norm_block, draw.block_calls(), BLOCK, curved=False, batch_rank=3, weight=4),
    Component(relative_pre_norm_block, draw.block_calls(), BLOCK, curved=False, batch_rank=3, weight=4),
    Component(relative_stack, draw.stack_calls(), BLOCK, curved=False, batch_rank=NEVER, weight=8),
    Component(segment_memory, draw.memory_calls(), ("memory", "x"), curved=False, batch_rank=NEVER),
    Component(transformer_xl, draw.model_calls(), ("memory", "params"), curved=False, batch_rank=NEVER, weight=8),
    Component(
        transformer_xl_lm, draw.model_calls(groups=BOTH), ("memory", "params"), curved=False, batch_rank=NEVER, weight=8
    ),
    Component(
        transformer_xl_loss, draw.model_calls(groups=BOTH, with_targets=True), ("memory", "params"), curved=False,
        batch_rank=NEVER, weight=8,
    ),
    Component(
        transformer_xl_segments,
        draw.model_calls(groups=BOTH, with_targets=True, settings={"n_segment": 2, "through_memory": True}),
        ("memory", "params"), curved=False, batch_rank=NEVER, weight=12,
    ),
]  # fmt: skip
