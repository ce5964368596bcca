"""Every promise of norms, gates and losses, and the wrong variant that each must reject."""

import pytest

from compare.cases.bug import rewritten
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.gated import gated
from refimpl.layers.rms_norm import rms_norm
from refimpl.layers.silu import silu
from refimpl.layers.softmax import logsumexp
from tests.properties import promises_of_layers as promises
from tests.properties.examples import run
from tests.properties.registry import component_of
from tests.properties.test_planted import rejects

# The promise, the component, and a variant that breaks it.
PROMISES = {
    "blind to the length": (
        promises.blind_to_the_length, rms_norm, rewritten(rms_norm, "mean_square + eps", "mean_square + 1e-6"),
    ),
    "no gradient along x": (
        promises.gradients_have_no_part_along_x, rms_norm, rewritten(rms_norm, " - x_hat * along_x_hat", ""),
    ),
    "the offset belongs to the weight": (
        promises.the_offset_belongs_to_the_weight, rms_norm,
        rewritten(rms_norm, "normed.dtype) + weight_offset", "normed.dtype)"),
    ),
    "linear in the value": (
        promises.linear_in_the_value, gated,
        rewritten(gated, 'if gate == "first" else (second, first)', 'if gate != "first" else (second, first)'),
    ),
    "between the maximum and log n more": (
        promises.between_the_maximum_and_log_n_more, logsumexp,
        rewritten(logsumexp, "xp.log(divisor) + shift", "xp.log(divisor)"),
    ),
    "the gradient is shared out": (
        promises.gradient_is_shared_out, logsumexp, rewritten(logsumexp, "(exps / divisor)", "exps"),
    ),
    "odd and even parts": (promises.odd_and_even_parts, silu, rewritten(silu, "sigmoid(x)", "sigmoid(1.0 + x)")),
    "losses are weighed": (
        promises.losses_of_targets_are_weighed, cross_entropy,
        rewritten(cross_entropy, "xp.where(weight > 0.0, log_probs, 0.0) * weight", "log_probs"),
    ),
    "the mean is a weighted mean": (
        promises.the_mean_is_a_weighted_mean, cross_entropy,
        rewritten(cross_entropy, "_n_counted(ignored, weight, classes)", "_n_counted(ignored, None, classes)"),
    ),
    "the z-loss is added": (
        promises.the_z_loss_is_added, cross_entropy,
        rewritten(cross_entropy, "z_factor * (z * z)", "z_factor * z_factor * (z * z)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROMISES)
def test_promise_is_kept(name):
    promise, function, _ = PROMISES[name]
    run(promise, component_of(function))


@pytest.mark.parametrize("name", PROMISES)
def test_promise_broken_is_noticed(name):
    rejects(*PROMISES[name])
