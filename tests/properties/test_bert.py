"""What BERT promises about padding."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from compare import strategies
from refimpl.attention.mask import padding_mask
from refimpl.models.bert.model import bert
from tests.properties import draw_models
from tests.properties.component import cotangents
from tests.properties.registry import BACKBONE, component_of
from tests.properties.rounding import assert_close, spread_run


def _padded(call, generator):
    ids = call.arrays["token_ids"]
    is_token = (np.arange(ids.shape[1]) == 0) | (generator.random(ids.shape) < 0.6)
    return replace(call, settings=call.settings | {"mask": padding_mask(is_token)}), is_token


@given(draw_models.bert_calls(BACKBONE), strategies.generators())
def test_ids_under_the_mask_never_matter(call, generator):
    """Not one bit of the states of tokens, nor of any parameter's gradient."""
    component = component_of(bert)
    padded, is_token = _padded(call, generator)
    others = {
        name: np.where(is_token, ids, generator.integers(0, n, ids.shape))
        for (name, ids), n in zip(call.arrays.items(), (call.settings["config"].vocab_size, 2), strict=True)
    }
    results = []
    for arrays in (call.arrays, others):
        states, pullback = component(replace(padded, arrays=arrays))
        dy = tuple(np.where(is_token[..., None], part, 0.0) for part in cotangents(states, call.seed))
        gradients = component.gradients(pullback, dy, padded)
        results.append({"y": np.stack(states)[:, is_token], **gradients})
    for name, result in results[0].items():
        np.testing.assert_array_equal(results[1][name], result, err_msg=name)


@given(draw_models.bert_calls(BACKBONE), strategies.generators())
def test_a_sentence_reads_alike_alone_and_padded(call, generator):
    component = component_of(bert)
    n_token = int(generator.integers(1, call.arrays["token_ids"].shape[1] + 1))
    is_token = np.broadcast_to(np.arange(call.arrays["token_ids"].shape[1]) < n_token, call.arrays["token_ids"].shape)
    alone = replace(
        call,
        arrays={name: ids[:, :n_token] for name, ids in call.arrays.items()},
        settings=call.settings | {"mask": None},
    )
    padded = replace(call, settings=call.settings | {"mask": padding_mask(is_token)})
    want, _ = component(alone)
    got, _ = component(padded)
    spreads, _ = spread_run(component, alone)
    for i, (state, want_state) in enumerate(zip(got, want, strict=True)):
        assert_close(state[:, :n_token], want_state, spreads[f"y[{i}]"].sigma, name=f"state {i}")


@given(draw_models.bert_calls(BACKBONE))
def test_states_without_dy_count_as_0(call):
    component = component_of(bert)
    states, pullback = component(call)
    dy = cotangents(states, call.seed)
    zeros = tuple(np.zeros_like(part) for part in dy[:-1])
    (got,), (want,) = pullback((*[None] * len(zeros), dy[-1])), pullback((*zeros, dy[-1]))
    for key, gradient in want.items():
        np.testing.assert_array_equal(got[key], gradient, err_msg=key)
