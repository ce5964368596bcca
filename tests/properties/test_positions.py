"""Every promise of positions, and the wrong variant that each must reject."""

import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.attention.multi_head import self_attention
from refimpl.attention.relative import shaw
from refimpl.attention.relative.shaw import shaw_attention
from refimpl.positions import bucketed
from refimpl.positions.bucketed import bucketed_bias
from refimpl.positions.extension import extend_by_interpolation, extend_by_mean, extend_by_tiling
from refimpl.positions.rotary import rotary
from refimpl.positions.sinusoidal import sinusoidal_positions
from tests.properties import promises_of_positions as promises
from tests.properties.examples import run
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run
from tests.properties.test_planted import rejects


def wrong_buckets(old, new):
    return rewritten(bucketed_bias, relative_buckets=rewritten(bucketed.relative_buckets, old, new))


COUNTED = "position_ids(x, positions, offset)"
# The promise, the component, and a variant that breaks it.
PROMISES = {
    "products depend on the distance": (
        promises.products_depend_on_the_distance_alone, rotary,
        rewritten(rotary, "cast(xp.sin(angles)", "cast(xp.sin(angles * 1.01)"),
    ),
    "lengths stay": (
        promises.lengths_stay, rotary, rewritten(rotary, "xp.cos(angles) * factor", "xp.cos(angles) * 1.001"),
    ),
    "the pullback turns back": (promises.the_pullback_turns_back, rotary, rewritten(rotary, "cos, -sin", "cos, sin")),
    "layouts are permutations": (
        promises.layouts_are_permutations, rotary,
        rewritten(rotary, "y = _turn(x, cos, sin, n_rotary, layout)", 'y = _turn(x, cos, sin, n_rotary, "half")'),
    ),
    "rotary: a part is a part of the whole": (
        promises.a_part_is_a_part_of_the_whole, rotary, rewritten(rotary, COUNTED, "position_ids(x, positions, 0)"),
    ),
    "sinusoidal: a part is a part of the whole": (
        promises.a_part_is_a_part_of_the_whole, sinusoidal_positions,
        rewritten(sinusoidal_positions, COUNTED, "position_ids(x, positions, 0)"),
    ),
    "rotary: given positions": (
        promises.given_positions_are_looked_up, rotary, rewritten(rotary, COUNTED, "position_ids(x, None, offset)"),
    ),
    "sinusoidal: given positions": (
        promises.given_positions_are_looked_up, sinusoidal_positions,
        rewritten(sinusoidal_positions, COUNTED, "position_ids(x, None, offset)"),
    ),
    "bias depends on the distance": (
        promises.bias_depends_on_the_distance_alone, bucketed_bias,
        wrong_buckets("xp.arange(n_query - 1, -1, -1)[:, None]", "0 * xp.arange(n_query)[:, None]"),
    ),
    "far keys share a bucket": (
        promises.far_keys_share_the_last_bucket, bucketed_bias,
        wrong_buckets("_bucket_starts(n_side, max_distance)", "_bucket_starts(n_side, max_distance + 9)"),
    ),
    "near keys have a bucket each": (
        promises.near_keys_have_a_bucket_each, bucketed_bias,
        wrong_buckets("distance[:, None] >= starts", "distance[:, None] > starts"),
    ),
    "a bucket counts its pairs": (
        promises.gradient_of_a_bucket_counts_its_pairs, bucketed_bias,
        rewritten(bucketed_bias, "xp.reshape(xp.moveaxis(dy, 0, -1), (n_pair, n_head))",
                  "xp.reshape(xp.moveaxis(dy, 0, -1), (n_pair, n_head)) * 0.5"),
    ),
    "distances that do not occur": (
        promises.rows_of_no_pair_have_no_gradient, shaw_attention,
        rewritten(shaw_attention, _relative_rows=rewritten(
            shaw._relative_rows, "xp.arange(n_key - n_query, n_key)", "xp.arange(n_query)")),
    ),
    "mean: a constant stays": (
        promises.a_constant_table_stays_constant, extend_by_mean, rewritten(extend_by_mean, "xp.mean(", "xp.sum("),
    ),
    "interpolation: a constant stays": (
        promises.a_constant_table_stays_constant, extend_by_interpolation,
        rewritten(extend_by_interpolation, "weight[above] * share", "weight[above] * share * share"),
    ),
    "mean: learned ones are kept": (
        promises.the_learned_ones_are_kept, extend_by_mean,
        rewritten(extend_by_mean, "min(i, n_learned) for i in range(n_position)",
                  "n_learned - min(i, n_learned) for i in range(n_position)"),
    ),
    "tiling: learned ones are kept": (
        promises.the_learned_ones_are_kept, extend_by_tiling,
        rewritten(extend_by_tiling, "[i % n_learned for i", "[-(i + 1) % n_learned for i"),
    ),
    "mean: gradients are shared out": (
        promises.gradients_share_out_all_of_it, extend_by_mean,
        rewritten(extend_by_mean, "dmean / n_learned", "dmean"),
    ),
    "tiling: gradients are shared out": (
        promises.gradients_share_out_all_of_it, extend_by_tiling,
        rewritten(extend_by_tiling, "scatter_add(rows, dy, n_learned)", "dy[:n_learned] * 1.0"),
    ),
    "interpolation: gradients are shared out": (
        promises.gradients_share_out_all_of_it, extend_by_interpolation,
        rewritten(extend_by_interpolation, "dbelow + scatter_add(above, dy * share, n_learned)", "dbelow"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROMISES)
def test_promise_is_kept(name):
    promise, function, _ = PROMISES[name]
    run(promise, component_of(function))


@pytest.mark.parametrize("name", PROMISES)
def test_promise_broken_is_noticed(name):
    rejects(*PROMISES[name])


def without_positions_order_means_nothing(component, call):
    """Permuting the sequence permutes what attention without mask and positions gives, and its gradients."""
    if call.settings.get("mask") is not None or call.settings.get("keep") is not None:
        return
    x = call.arrays["x"]
    order = np.random.default_rng(call.seed).permutation(x.shape[1])
    y, pullback = component.function(x, call.params, n_head=call.settings["n_head"])
    moved, moved_pullback = component.function(x[:, order], call.params, n_head=call.settings["n_head"])
    spreads = spread_run(component, call)[0]
    assert_close(moved, y[:, order], spreads["y"].sigma[:, order], name="y")
    dy = np.random.default_rng(call.seed).normal(size=y.shape)
    sigma = np.max(spread_run(component, call)[1]["x"].sigma) + 0.0 * x
    assert_close(moved_pullback(dy[:, order])[0], pullback(dy)[0][:, order], sigma, name="dx")


def test_without_positions_order_means_nothing():
    run(without_positions_order_means_nothing, component_of(self_attention))


def test_positions_are_noticed():
    def with_positions(x, params, *, n_head, **others):
        return self_attention(sinusoidal_positions(x)[0], params, n_head=n_head, **others)

    rejects(without_positions_order_means_nothing, self_attention, with_positions)
