"""How each family reads what it goes on from, and how its states are scored."""

from collections.abc import Callable
from dataclasses import dataclass

from refimpl.generation import reorder_layers
from refimpl.layers.linear import linear
from refimpl.models.decoder.config import DecoderConfig
from refimpl.models.decoder.lm import HEAD as DECODER_HEAD
from refimpl.models.decoder.lm import TOKENS as DECODER_TABLE
from refimpl.models.decoder.step import decoder_read
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.encoder_decoder.heads import head_params
from refimpl.models.encoder_decoder.step import encoder_decoder_read, encoder_decoder_start
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.heads import HEAD, TOKEN_TABLE
from refimpl.models.gpt.step import gpt_read
from refimpl.models.t5.config import T5Config
from refimpl.models.t5.heads import HEAD as T5_HEAD
from refimpl.models.t5.heads import TABLE as T5_TABLE
from refimpl.models.t5.heads import logit_scale
from refimpl.models.t5.step import t5_read, t5_start
from refimpl.models.transformer_xl.config import TransformerXLConfig
from refimpl.models.transformer_xl.step import reorder_memory, transformer_xl_step


@dataclass(frozen=True)
class Reading:
    """How a family is read.

    Attributes
    ----------
    read : callable
        ``read(token_ids, params, cache, *, config, mask) -> (states, cache)``: what is new, after what is remembered.
    score : callable
        ``score(states, params, config) -> logits``.
    start : callable or None
        ``start(source_ids, params, *, config, mask) -> cache`` of an encoder–decoder, which reads a source first.
    reorder : callable
        ``reorder(cache, rows) -> cache``.
    remembers_all : bool
        False where the past is a memory that forgets: it can be neither left out nor taken back, and what comes out
        are scores, not states.
    """

    read: Callable
    score: Callable
    start: Callable | None = None
    reorder: Callable = reorder_layers
    remembers_all: bool = True


def _head_or_table(head, table, scale=lambda config: 1.0):
    """Score by the head or, where that is tied, by the table of the tokens."""

    def score(states, params, config):
        factor = scale(config)
        scaled = states if factor == 1.0 else states * factor
        return linear(scaled, {"weight": params[head if head in params else table]})[0]

    return score


READINGS = {
    GptConfig: Reading(gpt_read, _head_or_table(HEAD, TOKEN_TABLE)),
    DecoderConfig: Reading(decoder_read, _head_or_table(DECODER_HEAD, DECODER_TABLE)),
    EncoderDecoderConfig: Reading(
        encoder_decoder_read, lambda states, params, config: linear(states, head_params(params))[0],
        start=encoder_decoder_start,
    ),
    T5Config: Reading(t5_read, _head_or_table(T5_HEAD, T5_TABLE, logit_scale), start=t5_start),
    TransformerXLConfig: Reading(
        transformer_xl_step, lambda scores, params, config: scores, reorder=reorder_memory, remembers_all=False
    ),
}  # fmt: skip
