"""What decoder-only models promise: they look at nothing to come and at no padding, and go on where they stopped."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings

from compare import strategies
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from refimpl.models.decoder.step import decoder_step
from tests.properties import promises_of_causal_models as promises
from tests.properties.draw_decoders import decoder_calls
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

FEWER = settings(max_examples=max(settings.default.max_examples // 4, 5))


@FEWER
@given(decoder_calls(), strategies.generators())
def test_what_is_to_come_never_matters(call, generator):
    promises.what_is_to_come_never_matters(component_of(decoder), call, generator)


@FEWER
@given(decoder_calls(), strategies.generators())
def test_tokens_under_the_mask_never_matter(call, generator):
    promises.tokens_under_the_mask_never_matter(component_of(decoder), call, generator)


@FEWER
@given(decoder_calls(), strategies.generators())
def test_a_text_reads_alike_alone_and_padded(call, generator):
    """On either side, for only distances count."""
    component = component_of(decoder)
    token_ids = call.arrays["token_ids"]
    n_token = int(generator.integers(1, token_ids.shape[1] + 1))
    text, padding = token_ids[:, :n_token], np.zeros((token_ids.shape[0], token_ids.shape[1] - n_token), np.int64)
    alone = replace(call, arrays={"token_ids": text}, settings=call.settings | {"mask": None})
    want, _ = component(alone)
    for sides in ((text, padding), (padding, text)):
        is_token = np.concatenate([np.full(side.shape, side is not padding) for side in sides], axis=1)
        arrays = {"token_ids": np.concatenate(sides, axis=1)}
        padded = replace(alone, arrays=arrays, settings=alone.settings | {"mask": is_token})
        got, _ = component(padded)
        # Its angles are larger on one side, and so is their rounding.
        spreads, _ = spread_run(component, padded)
        for i, (state, want_state) in enumerate(zip(got, want, strict=True)):
            sigma = spreads[f"y[{i}]"].sigma[:, is_token[0]]
            assert_close(state[:, is_token[0]], want_state, sigma, name=f"state {i}")


@FEWER
@given(decoder_calls(headed=True), strategies.generators())
def test_steps_are_the_whole(call, generator):
    """However a text is cut, padded on either side; and the past still says what it said."""
    component = component_of(decoder_lm)
    token_ids, config = call.arrays["token_ids"], call.settings["config"]
    n_seq = token_ids.shape[1]
    first, last = sorted(generator.integers(0, n_seq + 1, 2))
    places = np.arange(n_seq)
    sides = np.tile((first <= places) & (places < last), (token_ids.shape[0], 1))
    mask = None if generator.random() < 0.25 else sides
    call = replace(call, settings=call.settings | {"mask": mask})
    (want,), _ = component(call)
    spreads, _ = spread_run(component, call)
    past, parts = None, []
    for start, end in pairwise(sorted({0, *generator.integers(0, n_seq + 1, 2).tolist(), n_seq})):
        settings_here = {"config": config, "mask": None if mask is None else mask[:, :end]}
        step = (token_ids[:, start:end], call.params, past)
        logits, grown = decoder_step(*step, **settings_here)
        np.testing.assert_array_equal(decoder_step(*step, **settings_here)[0], logits)
        past = grown
        parts.append(logits)
    is_token = np.ones(token_ids.shape, bool) if mask is None else mask
    got = np.concatenate(parts, axis=1)
    assert_close(got[is_token], want[is_token], spreads["y[0]"].sigma[is_token], name="logits")
