"""What reads one sequence and writes another."""

from refimpl.blocks.decoder_block import post_norm_decoder_block, pre_norm_decoder_block
from refimpl.blocks.target_loss import target_loss
from refimpl.blocks.transformer import transformer
from refimpl.models.encoder_decoder.embeddings import embedded_tokens
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.encoder_decoder.model import encoder_decoder
from tests.properties import draw_sequences
from tests.properties.component import Component

OF_BLOCK = ("x", "memory", "params")
WITH_HEAD = {"groups": "all"}

COMPONENTS = [
    Component(post_norm_decoder_block, draw_sequences.decoder_block_calls(), OF_BLOCK, curved=False, weight=4),
    Component(pre_norm_decoder_block, draw_sequences.decoder_block_calls(), OF_BLOCK, curved=False, weight=4),
    Component(
        transformer, draw_sequences.transformer_calls(), ("source", "target", "params"), curved=False, weight=8
    ),
    Component(embedded_tokens, draw_sequences.embedded_tokens_calls(), ("params",), curved=False, weight=2),
    Component(encoder_decoder, draw_sequences.encoder_decoder_calls(), ("params",), curved=False, weight=8),
    Component(
        encoder_decoder_lm, draw_sequences.encoder_decoder_calls(**WITH_HEAD), ("params",), curved=False, weight=8
    ),
    Component(
        target_loss, draw_sequences.encoder_decoder_calls(**WITH_HEAD, target="labels"), ("params",),
        curved=False, weight=8,
    ),
]  # fmt: skip
