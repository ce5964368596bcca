"""Every promise of Transformer-XL and its adaptive softmax, and the wrong variant that each must reject."""

import pytest

from compare.cases.adaptive_softmax import CASES as ADAPTIVE
from compare.cases.bug import rewritten
from compare.cases.relative import BUGS as RELATIVE_BUGS
from compare.cases.transformer_xl import CASES as MODELS
from refimpl.attention.relative.layer import relative_self_attention
from refimpl.blocks.relative.block import relative_post_norm_block
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.layers.adaptive_softmax import adaptive_cross_entropy, adaptive_log_softmax
from refimpl.models.transformer_xl.model import transformer_xl
from tests.properties import promises_of_transformer_xl as promises
from tests.properties.examples import run
from tests.properties.registry import component_of
from tests.properties.test_planted import rejects

BUGS = {case.name: case.bugs for case in (*ADAPTIVE, *MODELS)}
SEES_AHEAD = rewritten(
    transformer_xl,
    relative_post_norm_block=rewritten(
        relative_post_norm_block,
        relative_self_attention=rewritten(
            relative_self_attention, relative_attention=RELATIVE_BUGS["junk after the diagonal attended"]
        ),
    ),
)

# The promise, the component, and a variant that breaks it.
PROMISES = {
    "later tokens never matter": (promises.later_tokens_never_matter, transformer_xl, SEES_AHEAD),
    "segments are the whole": (
        promises.segments_are_the_whole, transformer_xl, BUGS["transformer_xl"]["memory of the outputs of the blocks"],
    ),
    "the gradient through the memory is that of the whole": (
        promises.segments_are_the_whole, transformer_xl,
        rewritten(transformer_xl, "(None, [None] * config.n_layer) if dremembered is None else", "(None, [None] * "
                  "config.n_layer) if True else"),
    ),
    "what is forgotten has no gradient": (
        promises.forgotten_states_have_no_gradient, segment_memory,
        rewritten(segment_memory, "(n_forgotten, 0), (0, 0)", "(0, n_forgotten), (0, 0)"),
    ),
    "losses are those of the log-probabilities": (
        promises.losses_are_those_of_the_log_probabilities, adaptive_cross_entropy,
        BUGS["adaptive_cross_entropy"]["target of the head one cluster too far"],
    ),
    "probabilities sum to 1": (
        promises.probabilities_sum_to_1, adaptive_log_softmax,
        BUGS["adaptive_log_softmax"]["log-probability of the cluster not added"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("promise", PROMISES)
def test_promise_is_kept(promise):
    check, function, _ = PROMISES[promise]
    run(check, component_of(function))


@pytest.mark.parametrize("promise", PROMISES)
def test_promise_broken_is_noticed(promise):
    rejects(*PROMISES[promise])
