"""What models that read and write promise: who sees whom, that padding means nothing, that steps are the whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings

from compare import strategies
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.encoder_decoder.model import encoder_decoder
from refimpl.models.encoder_decoder.step import encoder_decoder_start, encoder_decoder_step
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5
from refimpl.models.t5.step import t5_start, t5_step
from tests.properties import draw_sequences, draw_t5
from tests.properties.component import cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

START = {encoder_decoder_lm: encoder_decoder_start, t5_lm: t5_start}
STEP = {encoder_decoder_lm: encoder_decoder_step, t5_lm: t5_step}
CALLS = {
    encoder_decoder: draw_sequences.encoder_decoder_calls(),
    encoder_decoder_lm: draw_sequences.encoder_decoder_calls(groups="all"),
    t5: draw_t5.t5_calls(),
    t5_lm: draw_t5.t5_calls(may_untie=True),
}


def for_calls_of(*functions):
    """Run a check `check(function, call, generator)` on drawn calls of each."""

    def decorate(check):
        @pytest.mark.parametrize("function", functions, ids=lambda function: function.__name__)
        def test(function):
            judge(check, function)

        test.__name__, test.check = check.__name__, check
        return test

    return decorate


def judge(check, function, phases=tuple(Phase), at_least=5):
    most = max(settings.get_profile(settings.get_current_profile_name()).max_examples // 16, at_least)

    @settings(max_examples=most, phases=phases)
    @given(CALLS[function], strategies.generators())
    def examples(call, generator):
        check(function, call, generator)

    examples()


def seen_alike(generator, mask, ids, n):
    """Exchange what a mask hides."""
    return ids if mask is None else np.where(mask, ids, generator.integers(0, n, ids.shape))


@for_calls_of(encoder_decoder, t5)
def test_no_state_of_the_target_sees_a_later_token(function, call, generator):
    """Not by one bit; and the states of the source see nothing of the target."""
    component = component_of(function)
    target_ids = call.arrays["target_ids"]
    n_target, n_layer = target_ids.shape[1], call.settings["config"].n_layer
    n_kept = int(generator.integers(1, max(n_target, 2)))
    others = (target_ids + 1) % call.settings["config"].vocab_size
    changed = np.where(np.arange(n_target) < n_kept, target_ids, others)
    states, _ = component(call)
    new_states, _ = component(replace(call, arrays=call.arrays | {"target_ids": changed}))
    for i, (state, new) in enumerate(zip(states, new_states, strict=True)):
        end = None if i <= n_layer else n_kept
        np.testing.assert_array_equal(new[:, :end], state[:, :end], err_msg=f"state {i}")


@for_calls_of(encoder_decoder, t5)
def test_what_is_masked_never_matters(function, call, generator):
    """Not one bit of the states of tokens, nor of any parameter's gradient."""
    component = component_of(function)
    n, masks = call.settings["config"].vocab_size, [call.settings[name] for name in ("mask", "target_mask")]
    others = {
        name: seen_alike(generator, mask, ids, n)
        for (name, ids), mask in zip(call.arrays.items(), masks, strict=True)
    }
    results = []
    for arrays in (call.arrays, others):
        states, pullback = component(replace(call, arrays=arrays))
        n_read = call.settings["config"].n_layer + 1
        kept = [masks[int(i >= n_read)] for i in range(len(states))]
        hide = lambda x, mask: x if mask is None else np.where(mask[..., None], x, 0.0)  # noqa: E731
        dy = tuple(map(hide, cotangents(states, call.seed), kept))
        gradients = component.gradients(pullback, dy, call)
        results.append(gradients | {f"y[{i}]": hide(x, kept[i]) for i, x in enumerate(states)})
    for name, result in results[0].items():
        np.testing.assert_array_equal(results[1][name], result, err_msg=name)


@for_calls_of(encoder_decoder_lm, t5_lm)
def test_steps_are_the_whole(function, call, generator):
    """However the target is cut into steps, with what was read remembered, the logits are those of the whole."""
    call = replace(call, settings=call.settings | {"target_mask": None})
    component, config = component_of(function), call.settings["config"]
    whole, _ = component(call)
    spreads, _ = spread_run(component, call)
    target_ids = call.arrays["target_ids"]
    past = START[function](call.arrays["source_ids"], call.params, config=config, mask=call.settings["mask"])
    n_done, pieces = 0, []
    while n_done < target_ids.shape[1]:
        n_left = target_ids.shape[1] - n_done
        n_new = int(generator.integers(1, max(n_left, 2)))  # never all at once
        piece, past = STEP[function](target_ids[:, n_done : n_done + n_new], call.params, past, config=config)
        pieces.append(piece)
        n_done = n_done + n_new
    assert_close(np.concatenate(pieces, axis=1), whole, spreads["y"].sigma, name="logits")


@for_calls_of(encoder_decoder_lm, t5_lm)
def test_a_step_leaves_the_past_as_it_was(function, call, generator):
    """From one past the same step can be taken twice: so a search may go on from it in several ways."""
    config = call.settings["config"]
    past = START[function](call.arrays["source_ids"], call.params, config=config, mask=call.settings["mask"])
    first = call.arrays["target_ids"][:, :1]
    logits, grown = STEP[function](first, call.params, past, config=config)
    STEP[function](first, call.params, grown, config=config)
    again, _ = STEP[function](first, call.params, past, config=config)
    np.testing.assert_array_equal(again, logits)
