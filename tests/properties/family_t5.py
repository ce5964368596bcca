"""T5 and its parts."""

from refimpl.attention.biased_layer import biased_attention
from refimpl.blocks.t5_block import t5_decoder_block, t5_encoder_block
from refimpl.models.t5.halves import t5_decoder, t5_encoder
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5
from tests.properties import draw_t5
from tests.properties.component import Component

COMPONENTS = [
    Component(
        biased_attention, draw_t5.biased_attention_calls(), ("x", "memory", "bias", "params"), batch_rank=3, weight=2
    ),
    Component(t5_encoder_block, draw_t5.block_calls("encoder."), ("x", "bias", "params"), curved=False, weight=4),
    Component(
        t5_decoder_block, draw_t5.block_calls("decoder."), ("x", "memory", "bias", "params"), curved=False, weight=4
    ),
    Component(t5_encoder, draw_t5.encoder_calls(), ("params",), curved=False, weight=8),
    Component(t5_decoder, draw_t5.decoder_calls(), ("memory", "params"), curved=False, weight=8),
    Component(t5, draw_t5.t5_calls(), ("params",), curved=False, weight=8),
    Component(t5_lm, draw_t5.t5_calls(may_untie=True), ("params",), curved=False, weight=8),
]
