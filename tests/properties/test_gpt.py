"""What a GPT promises: it looks at nothing to come and at no padding, and goes on from where it has stopped."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings

from compare import strategies
from refimpl.models.gpt.heads import gpt_lm
from refimpl.models.gpt.model import gpt
from refimpl.models.gpt.step import gpt_step
from tests.properties import promises_of_causal_models as promises
from tests.properties.draw_gpt import gpt_calls
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

FEWER = settings(max_examples=max(settings.default.max_examples // 3, 5))


@FEWER
@given(gpt_calls(), strategies.generators())
def test_what_is_to_come_never_matters(call, generator):
    promises.what_is_to_come_never_matters(component_of(gpt), call, generator)


@FEWER
@given(gpt_calls(), strategies.generators())
def test_tokens_under_the_mask_never_matter(call, generator):
    promises.tokens_under_the_mask_never_matter(component_of(gpt), call, generator)


@FEWER
@given(gpt_calls(), strategies.generators())
def test_a_text_reads_alike_alone_and_padded(call, generator):
    """On either side."""
    component = component_of(gpt)
    token_ids = call.arrays["token_ids"]
    n_token = int(generator.integers(1, token_ids.shape[1] + 1))
    n_padding = token_ids.shape[1] - n_token
    alone = replace(
        call,
        arrays={"token_ids": token_ids[:, :n_token]},
        settings=call.settings | {"mask": None, "position_ids": None},
    )
    want, _ = component(alone)
    spreads, _ = spread_run(component, alone)
    padding = np.zeros((token_ids.shape[0], n_padding), np.int64)
    for sides in ((token_ids[:, :n_token], padding), (padding, token_ids[:, :n_token])):
        is_token = np.concatenate([np.full(side.shape, side is not padding) for side in sides], axis=1)
        arrays = {"token_ids": np.concatenate(sides, axis=1)}
        got, _ = component(replace(alone, arrays=arrays, settings=alone.settings | {"mask": is_token}))
        for i, (state, want_state) in enumerate(zip(got, want, strict=True)):
            read = state[:, is_token[0]]
            assert_close(read, want_state, spreads[f"y[{i}]"].sigma, name=f"state {i}")


@FEWER
@given(gpt_calls("head.weight"), strategies.generators())
def test_steps_are_the_whole(call, generator):
    """However a text is cut, padded on either side; and a cache from which one goes on still says what it said.

    Not padded in between: a window of the whole counts places, one of the cache tokens.
    """
    component = component_of(gpt_lm)
    token_ids = call.arrays["token_ids"]
    first, last = sorted(generator.integers(0, token_ids.shape[1] + 1, 2))
    places = np.arange(token_ids.shape[1])
    sides = np.tile((first <= places) & (places < last), (token_ids.shape[0], 1))
    mask = None if generator.random() < 0.25 else sides
    call = replace(call, settings=call.settings | {"mask": mask})
    want, _ = component(call)
    spreads, _ = spread_run(component, call)
    n_seq = token_ids.shape[1]
    cuts = sorted({0, *generator.integers(0, n_seq + 1, 2).tolist(), n_seq})
    past, parts = None, []
    for start, end in pairwise(cuts):
        here = {key: None if x is None else x[:, start:end] for key, x in call.settings.items() if key != "config"}
        here["mask"] = None if mask is None else mask[:, :end]
        step = (token_ids[:, start:end], call.params, past)
        logits, grown = gpt_step(*step, config=call.settings["config"], **here)
        np.testing.assert_array_equal(gpt_step(*step, config=call.settings["config"], **here)[0], logits)
        past = grown
        parts.append(logits)
    is_token = np.ones(token_ids.shape, bool) if mask is None else mask
    got = np.concatenate(parts, axis=1)
    # The same sums in another order.
    assert_close(got[is_token], want[is_token], spreads["y"].sigma[is_token], name="logits")
