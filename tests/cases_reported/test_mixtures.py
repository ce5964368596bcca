"""Faults of mixtures of experts that other implementations really had; the numbers name the public reports."""

import numpy as np
import pytest

from refimpl.blocks.mixture.largest import largest
from refimpl.blocks.mixture.losses import load_balance_loss
from refimpl.blocks.mixture.router import router
from refimpl.layers.softmax import softmax
from tests.properties.component import Call, Component
from tests.properties.rounding import assert_close, spread_run


def drawn(n_chosen, softmax_over):
    generator = np.random.default_rng(1)
    params = {"weight": generator.standard_normal((5, 4))}
    settings = {"n_chosen": n_chosen, "softmax_over": softmax_over}
    return Call({"x": generator.standard_normal((7, 4)), "noise": np.zeros((7, 5))}, params, settings)


def test_M1_to_renormalise_is_to_take_the_softmax_after_the_choice():
    """litgpt 2013: softmax, top-k, renormalise equals top-k, softmax; else the full softmax counts."""
    component = Component(router, None, ("x", "noise", "params"))
    call = drawn(3, "chosen")
    (weights, logits), _ = component(call)
    sigma = spread_run(component, call)[0]["y[0]"].sigma
    chosen = largest(logits, 3)
    full, _ = softmax(logits)
    kept = np.where(chosen, full, 0.0)
    assert_close(weights, kept / kept.sum(axis=-1, keepdims=True), sigma, name="renormalised")
    (unnormalised, _), _ = component(drawn(3, "all"))
    np.testing.assert_array_equal(unnormalised, kept)


def test_M2_a_single_expert_over_the_chosen_is_refused():
    """transformers 28255: its weight is 1 whatever the logits say, and the router would never learn."""
    call = drawn(1, "chosen")
    with pytest.raises(ValueError, match=r"softmax_over must be all, .* teaches nothing, got 'chosen'"):
        router(*call.arrays.values(), call.params, **call.settings)
    call = drawn(1, "all")
    _, pullback = router(*call.arrays.values(), call.params, **call.settings)
    assert np.any(pullback((np.ones((7, 5)), None))[-1]["weight"] != 0.0)


def test_M2_the_balance_of_each_layer_is_another_than_that_of_all():
    """transformers 28255: two layers that each send everything to one expert look balanced together."""
    one, other = np.zeros((2, 6, 2))
    one[:, 0] = other[:, 1] = 50.0
    each = [float(load_balance_loss(layer, n_chosen=1)[0]) for layer in (one, other)]
    assert each == [2.0, 2.0]
    assert float(load_balance_loss(np.stack([one, other]), n_chosen=1)[0]) == 1.0
