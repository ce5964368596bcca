"""What Transformer-XL and its adaptive softmax promise, each as a check that a wrong component can be shown to."""

from dataclasses import replace

import numpy as np

from refimpl.layers.adaptive_softmax import adaptive_log_softmax
from tests.properties.component import cotangents
from tests.properties.rounding import assert_all_close, assert_close, spread_run


def later_tokens_never_matter(component, call):
    """Not one bit of a state before them."""
    ids = call.arrays["token_ids"]
    before, _ = component(call)
    for n_same in range(1, ids.shape[1]):
        changed = np.where(np.arange(ids.shape[1]) < n_same, ids, (ids + 1) % call.settings["config"].vocab_size)
        after, _ = component(replace(call, arrays=call.arrays | {"token_ids": changed}))
        for old, new in zip(before[:-1], after[:-1], strict=True):
            np.testing.assert_array_equal(new[:, :n_same], old[:, :n_same])


def segments_are_the_whole(component, call):
    """Where the memory covers the text, cutting it changes nothing; nor do the gradients, where they go through."""
    config = replace(call.settings["config"], n_memory=99)
    ids, memory = call.arrays["token_ids"], call.arrays["memory"]
    whole = replace(call, settings={"config": config, "mask": None})
    states, pullback = component(whole)
    dy = (*cotangents(states, call.seed)[:-1], None)
    gradients = component.gradients(pullback, dy, whole)
    outputs, spreads = spread_run(component, whole)
    cut = ids.shape[1] // 2
    first, first_pullback = component.function(ids[:, :cut], memory, call.params, config=config)
    second, second_pullback = component.function(ids[:, cut:], first[-1], call.params, config=config)
    for i, state in enumerate(states[:-1]):
        got = np.concatenate([first[i], second[i]], axis=1)
        assert_close(got, state, outputs[f"y[{i}]"].sigma, name=f"state {i}")
    dmemory, dlater = second_pullback((*[d[:, cut:] for d in dy[:-1]], None))
    dfirst, dsooner = first_pullback((*[d[:, :cut] for d in dy[:-1]], dmemory))
    got = {"memory": dfirst, **{f"params.{key}": dsooner[key] + dlater[key] for key in call.params}}
    # The last memory has no dy here, so that the spread, which has one, is only larger.
    assert_all_close(got, gradients, spreads)


def forgotten_states_have_no_gradient(component, call):
    y, pullback = component(call)
    dmemory, dx = pullback(cotangents(y, call.seed))
    both = np.concatenate([dmemory, dx], axis=2)
    n_forgotten = both.shape[2] - y.shape[2]
    assert not np.any(both[:, :, :n_forgotten])
    assert np.all(both[:, :, n_forgotten:] != 0.0)


def losses_are_those_of_the_log_probabilities(component, call):
    """The loss that scores only the clusters with targets, and the log-probabilities of all tokens."""
    targets, x = call.arrays["targets"], call.arrays["x"]
    losses, _ = component(call)
    log_probs, _ = adaptive_log_softmax(x, call.params, cutoffs=call.settings["cutoffs"])
    ignored = targets == -100
    chosen = np.take_along_axis(log_probs, np.where(ignored, 0, targets)[..., None], axis=-1)[..., 0]
    spreads, _ = spread_run(component, call)
    assert_close(losses, np.where(ignored, 0.0, -chosen), spreads["y"].sigma, name="losses")


def probabilities_sum_to_1(component, call):
    log_probs, _ = component(call)
    spreads, _ = spread_run(component, call)
    sigma = np.sum(np.exp(log_probs) * (spreads["y"].sigma + np.finfo(float).eps), axis=-1)
    assert_close(np.sum(np.exp(log_probs), axis=-1), np.ones(log_probs.shape[:-1]), sigma, name="sum")


