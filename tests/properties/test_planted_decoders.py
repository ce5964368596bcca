"""What breaks a promise of decoder-only models, or of mixtures of experts, is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.attention.grouped.layer import grouped_query_decode, grouped_query_self_attention
from refimpl.attention.mask import causal_mask
from refimpl.blocks.mixture.dispatch import token_slots
from refimpl.blocks.mixture.layer import mixture_of_experts
from refimpl.blocks.mixture.routed_experts import routed_experts
from refimpl.blocks.mixture.router import router
from refimpl.models.decoder import attend, model, step
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from tests.properties import test_decoders, test_mixtures
from tests.properties.examples import run
from tests.properties.registry import component_of


def wrong_attention(old, new):
    layer = rewritten(grouped_query_self_attention, old, new)
    variant = rewritten(attend.Attend.__call__, grouped_query_self_attention=layer)
    return rewritten(decoder, Attend=type("Attend", (attend.Attend,), {"__call__": variant}))


SEES_ONE_MORE = rewritten(causal_mask, "+ n_before", "+ n_before + 1")

# The module and test of the promise, the component, and the variant that breaks it.
BROKEN = {
    "a decoder that sees the next token": (
        test_decoders, "test_what_is_to_come_never_matters", decoder,
        rewritten(decoder, _who_sees_whom=rewritten(model._who_sees_whom, causal_mask=SEES_ONE_MORE)),
    ),
    "a decoder that sees padding": (
        test_decoders, "test_tokens_under_the_mask_never_matter", decoder,
        rewritten(decoder, "_who_sees_whom(token_ids, mask,", "_who_sees_whom(token_ids, None,"),
    ),
    "keys that are not turned": (
        test_decoders, "test_a_text_reads_alike_alone_and_padded", decoder,
        wrong_attention('params, "k_proj."), n_kv_head, rotate, positions)', 'params, "k_proj."), n_kv_head)'),
    ),
    "weights that do not add up to 1": (
        test_mixtures, "test_identical_experts_are_one_network", mixture_of_experts,
        rewritten(mixture_of_experts, router=rewritten(router, 'softmax_over == "chosen"', "False")),
    ),
    "experts in another order than their weights": (
        test_mixtures, "test_the_order_of_experts_means_nothing", mixture_of_experts,
        rewritten(mixture_of_experts, routed_experts=rewritten(
            routed_experts, "combine(fed, weights,", "combine(fed, 0.0 * weights + weights[..., :1],"
        )),
    ),
    "an expert that takes one too many": (
        test_mixtures, "test_an_expert_takes_no_more_than_its_capacity", routed_experts,
        rewritten(routed_experts, token_slots=rewritten(token_slots, "at_least=0), n_seq)", "at_least=0) + 1, n_seq)")),
    ),
}  # fmt: skip

TAKE_NO_GENERATOR = ("test_identical_experts_are_one_network", "test_an_expert_takes_no_more_than_its_capacity")


def drawn_from(call):
    """Draw from all of the call: its seed is too often 0."""
    return np.random.default_rng([call.seed, *next(iter(call.arrays.values())).astype(np.int64).ravel() % 97])


@pytest.mark.parametrize("bug", BROKEN)
def test_a_broken_promise_is_noticed(bug, monkeypatch):
    module, test, function, wrong = BROKEN[bug]
    component = replace(component_of(function), function=wrong)
    monkeypatch.setattr(module, "component_of", lambda _: component)
    judged = getattr(module, test).hypothesis.inner_test

    def check(_, call):
        judged(call, *([] if test in TAKE_NO_GENERATOR else [drawn_from(call)]))

    with pytest.raises(AssertionError):
        run(check, replace(component_of(function), weight=1), shrink=False)


def wrong_step(old="", new="", **names):
    return rewritten(step.decoder_step, decoder_read=rewritten(step.decoder_read, old, new, **names))


def counting_anew():
    decode = rewritten(grouped_query_decode, "next_positions(past.n_seen", "next_positions(0 * past.n_seen")
    variant = rewritten(attend.Recall.__call__, grouped_query_decode=decode)
    return wrong_step(Recall=type("Recall", (attend.Recall,), {"__call__": variant}))


WRONG_STEPS = {
    "the past is not counted": counting_anew(),
    "padding is remembered as tokens": wrong_step('"is_token": newest(mask, token_ids)', '"is_token": None'),
    "nothing is remembered": wrong_step("grown.append(layer_grown)", "grown.append(layer_past)"),
}


@pytest.mark.parametrize("bug", WRONG_STEPS)
def test_a_wrong_step_is_rejected(bug, monkeypatch):
    monkeypatch.setattr(test_decoders, "decoder_step", WRONG_STEPS[bug])
    judged = test_decoders.test_steps_are_the_whole.hypothesis.inner_test
    with pytest.raises(AssertionError):
        run(lambda _, call: judged(call, drawn_from(call)), replace(component_of(decoder_lm), weight=1), shrink=False)
