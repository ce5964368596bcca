"""Decoder-only models, their block and their loss, and how to draw their arguments."""

from refimpl.blocks.causal_block import causal_block
from refimpl.blocks.next_token_loss import next_token_loss
from refimpl.models.decoder.embed import embed
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from tests.properties import draw_decoders
from tests.properties.component import Component

COMPONENTS = [
    Component(causal_block, draw_decoders.causal_block_calls(), ("x", "params"), curved=False, weight=4),
    Component(next_token_loss, draw_decoders.next_token_loss_calls(), ("logits",), curved=False),
    Component(embed, draw_decoders.embed_calls(), ("params",), curved=False, weight=2),
    Component(decoder, draw_decoders.decoder_calls(), ("params",), curved=False, weight=8),
    Component(decoder_lm, draw_decoders.decoder_calls(headed=True), ("params",), curved=False, weight=8),
]
