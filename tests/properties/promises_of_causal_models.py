"""What every model that writes promises.  Each check raises AssertionError where it does not hold."""

from dataclasses import replace

import numpy as np

from tests.properties.component import cotangents


def what_is_to_come_never_matters(component, call, generator):
    """Not one bit of the states before it."""
    token_ids = call.arrays["token_ids"]
    now = int(generator.integers(0, token_ids.shape[1]))
    others = generator.integers(0, call.settings["config"].vocab_size, token_ids.shape)
    changed = np.where(np.arange(token_ids.shape[1]) > now, others, token_ids)
    states, _ = component(call)
    got, _ = component(replace(call, arrays={"token_ids": changed}))
    for i, (state, want) in enumerate(zip(got, states, strict=True)):
        np.testing.assert_array_equal(state[:, : now + 1], want[:, : now + 1], err_msg=f"state {i}")


def tokens_under_the_mask_never_matter(component, call, generator):
    """Not one bit of the states of tokens, nor of any gradient."""
    token_ids = call.arrays["token_ids"]
    is_token = generator.random(token_ids.shape) < 0.6
    others = np.where(is_token, token_ids, generator.integers(0, call.settings["config"].vocab_size, token_ids.shape))
    masked = replace(call, settings=call.settings | {"mask": is_token})
    results = []
    for ids in (token_ids, others):
        states, pullback = component(replace(masked, arrays={"token_ids": ids}))
        dy = tuple(np.where(is_token[..., None], part, 0.0) for part in cotangents(states, call.seed))
        gradients = component.gradients(pullback, dy, masked)
        results.append({"y": np.stack(states)[:, is_token], **gradients})
    for name, result in results[0].items():
        np.testing.assert_array_equal(results[1][name], result, err_msg=name)
