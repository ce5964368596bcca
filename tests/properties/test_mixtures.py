"""What mixtures of experts promise, whoever is chosen."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from compare import strategies
from refimpl.blocks.feed_forward import feed_forward
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.blocks.mixture.layer import mixture_of_experts
from refimpl.blocks.mixture.routed_experts import routed_experts
from tests.properties.component import cotangents, outputs
from tests.properties.draw_mixtures import mixture_calls, routed_experts_calls
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, assert_close, spread_run

FEWER = settings(max_examples=max(settings.default.max_examples // 3, 5))


@FEWER
@given(mixture_calls())
def test_identical_experts_are_one_network(call):
    """Weighed by weights that add up to 1."""
    component = component_of(mixture_of_experts)
    kept = {key: value for key, value in call.params.items() if not key.startswith("shared.")}
    same = {key: x[:1] + 0.0 * x if key.startswith("experts.") else x for key, x in kept.items()}
    weighed = {"n_chosen": max(call.settings["n_chosen"], 2), "softmax_over": "chosen", "capacity": None}
    alike = replace(call, params=same, settings=call.settings | weighed)
    (y, _), _ = component(alike)
    spreads, _ = spread_run(component, alike)
    network = gated_feed_forward if call.settings["gated"] else feed_forward
    one = {key.removeprefix("experts."): x[0] for key, x in same.items() if key.startswith("experts.")}
    want, _ = network(call.arrays["x"], one, activation=call.settings["activation"])
    assert_close(y, want, spreads["y[0]"].sigma, name="y")


@FEWER
@given(mixture_calls(), strategies.generators())
def test_the_order_of_experts_means_nothing(call, generator):
    """Outputs stay, logits and gradients of experts change places as the experts did."""
    component = component_of(mixture_of_experts)
    order = generator.permutation(call.arrays["noise"].shape[-1])

    def relabelled(x, name):
        return x[..., order] if name in ("noise", "y[1]") else x[order] if _has_experts(name) else x

    moved = replace(
        call,
        arrays={name: relabelled(x, name) for name, x in call.arrays.items()},
        params={key: relabelled(x, f"params.{key}") for key, x in call.params.items()},
    )
    y, pullback = component(call)
    dy, dlogits = cotangents(y, call.seed)
    got, moved_pullback = component(moved)
    want = outputs(y) | component.gradients(pullback, (dy, dlogits), call)
    found = outputs(got) | component.gradients(moved_pullback, (dy, dlogits[..., order]), moved)
    spread_y, spread_gradients = spread_run(component, call)
    spreads = {name: relabelled(x, name) for name, x in (spread_y | spread_gradients).items()}
    assert_all_close(found, {name: relabelled(x, name) for name, x in want.items()}, spreads)


def _has_experts(name):
    return name.startswith(("params.router.", "params.experts."))


@FEWER
@given(routed_experts_calls())
def test_an_expert_takes_no_more_than_its_capacity(call):
    """The first that come, by sequence; those that it drops might as well not have come."""
    component = component_of(routed_experts)
    chosen, capacity = call.settings["chosen"], call.settings["capacity"]
    taken = chosen if capacity is None else chosen & (np.cumsum(chosen, axis=1) <= capacity)
    few = replace(call, settings=call.settings | {"chosen": taken, "capacity": None})
    want, want_gradients = component.run(few)
    got, gradients = component.run(call)
    spread_y, spread_gradients = spread_run(component, few)
    assert_all_close(got | gradients, want | want_gradients, spread_y | spread_gradients)
