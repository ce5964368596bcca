"""What breaks a promise of models that read and write is noticed."""

from dataclasses import replace

import pytest
from hypothesis import Phase

from compare.cases.bug import rewritten
from refimpl.attention.mask import causal_mask
from refimpl.attention.multi_head_decode import cross_attention_decode
from refimpl.blocks.decoding.biased_attention import biased_cross_decode, biased_self_decode
from refimpl.blocks.decoding.decoder_block import post_norm_decoder_decode, pre_norm_decoder_decode
from refimpl.blocks.decoding.t5_block import t5_decoder_decode
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.encoder_decoder.model import encoder_decoder
from refimpl.models.encoder_decoder.step import encoder_decoder_read, encoder_decoder_step
from refimpl.models.t5.halves import t5_decoder
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5
from refimpl.models.t5.step import t5_read, t5_step
from tests.properties import test_sequences
from tests.properties.examples import N_PLANTED
from tests.properties.registry import component_of

SEES = test_sequences.test_no_state_of_the_target_sees_a_later_token
MASKED = test_sequences.test_what_is_masked_never_matters
WHOLE = test_sequences.test_steps_are_the_whole
PAST = test_sequences.test_a_step_leaves_the_past_as_it_was


def everything(n_query, n_key, *, like):
    return causal_mask(1, 1, like=like)


def step_of_blind_crossing():
    wrong = rewritten(cross_attention_decode, "past.positions >= 0", "past.positions >= -1")
    read = rewritten(
        encoder_decoder_read,
        post_norm_decoder_decode=rewritten(post_norm_decoder_decode, cross_attention_decode=wrong),
        pre_norm_decoder_decode=rewritten(pre_norm_decoder_decode, cross_attention_decode=wrong),
    )
    return rewritten(encoder_decoder_step, encoder_decoder_read=read)


def step_that_counts_anew():
    read = rewritten(encoder_decoder_read, "(past[0][0].n_seen", "(0 * past[0][0].n_seen")
    return rewritten(encoder_decoder_step, encoder_decoder_read=read)


def t5_step_of(**names):
    read = rewritten(t5_read, t5_decoder_decode=rewritten(t5_decoder_decode, **names))
    return rewritten(t5_step, t5_read=read)


class Forgetful:
    """A step that writes into a memory of its own, whatever past it is given."""

    def __init__(self, step):
        self.step, self.last = step, None

    def __call__(self, token_ids, params, past, **settings):
        logits, self.last = self.step(token_ids, params, self.last or past, **settings)
        return logits, self.last


# The check, the model, and the variant that breaks the promise: of the model, or of its step.
BROKEN = {
    "a target that sees what comes": (
        SEES, encoder_decoder, lambda: rewritten(encoder_decoder, causal_mask=everything),
    ),
    "a T5 that sees what comes": (
        SEES, t5, lambda: rewritten(t5, t5_decoder=rewritten(t5_decoder, causal_mask=everything)),
    ),
    "padding of the source is asked": (
        MASKED, encoder_decoder, lambda: rewritten(encoder_decoder, "memory_mask=readable", "memory_mask=None"),
    ),
    "padding of T5's source is asked": (MASKED, t5, lambda: rewritten(t5, "memory_mask=mask", "memory_mask=None")),
    "a memory that is asked for padding": (WHOLE, encoder_decoder_lm, step_of_blind_crossing),
    "positions counted anew at every step": (WHOLE, encoder_decoder_lm, step_that_counts_anew),
    "a memory that T5 asks for padding": (
        WHOLE, t5_lm,
        lambda: t5_step_of(biased_cross_decode=rewritten(biased_cross_decode, ".positions >= 0", ".positions >= -1")),
    ),
    "distances counted from the last step": (
        WHOLE, t5_lm,
        lambda: t5_step_of(biased_self_decode=rewritten(
            biased_self_decode, "distance_bias(positions,", "distance_bias(positions - past.n_seen[:, None],"
        )),
    ),
    "a step that remembers by itself": (PAST, encoder_decoder_lm, lambda: Forgetful(encoder_decoder_step)),
}  # fmt: skip


@pytest.mark.parametrize("bug", BROKEN)
def test_a_broken_promise_is_noticed(bug, monkeypatch):
    test, function, wrong = BROKEN[bug]
    if test in (WHOLE, PAST):
        monkeypatch.setitem(test_sequences.STEP, function, wrong())
    else:
        component = replace(component_of(function), function=wrong())
        monkeypatch.setattr(test_sequences, "component_of", lambda _: component)
    with pytest.raises(AssertionError):
        test_sequences.judge(test.check, function, phases=[Phase.generate], at_least=N_PLANTED)
