"""What attention in tiles, in bands and by distance promises: that it is attention, under a mask or with a bias."""

from dataclasses import replace

import numpy as np
import pytest

from refimpl.arrays import logsumexp
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.relative.attention import relative_attention
from refimpl.attention.relative.shift import relative_shift
from refimpl.attention.sparse.alternating import alternating_attention, alternating_mask
from refimpl.attention.sparse.band import band_mask, banded_attention
from refimpl.attention.sparse.longformer import longformer_attention
from refimpl.attention.sparse.sliding_window import sliding_window_attention, sliding_window_mask
from refimpl.attention.sparse.strided import strided_attention, strided_mask
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention
from refimpl.attention.tiled.split_kv import split_kv_attention
from tests.properties.component import cotangents
from tests.properties.examples import run
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, both, spread_run

SETTINGS = ("scale", "softcap", "keep", "rate")


def _naive(component, call, mask):
    """Attention as the call says, with all scores at once and `mask` besides its own."""
    both_masks = mask if call.settings["mask"] is None else mask & call.settings["mask"]
    settings = {name: call.settings[name] for name in SETTINGS if name in call.settings}
    return replace(component, function=attention), replace(call, settings=settings | {"mask": both_masks})


def _compare(component, call, mask):
    """Outputs and gradients of the component and of the naive form; the log-sum-exp has no twin there."""
    y, pullback = component(call)
    output = y[0] if isinstance(y, tuple) else y
    dy = cotangents(output, call.seed)
    gradients = component.gradients(pullback, (dy, np.zeros_like(y[1])) if isinstance(y, tuple) else dy, call)
    naive, naive_call = _naive(component, call, mask)
    want, naive_pullback = naive(naive_call)
    of_output, of_gradients = spread_run(component, call)
    naive_of_output, naive_of_gradients = spread_run(naive, naive_call)
    spreads = {"y": next(iter(of_output.values())), **of_gradients}
    assert_all_close(
        {"y": output, **gradients},
        {"y": want, **naive.gradients(naive_pullback, dy, naive_call)},
        both(spreads, naive_of_output | naive_of_gradients),
        n_rounded=1,
    )


def _mask_of(call, make, **settings):
    n_query, n_key = call.arrays["q"].shape[-2], call.arrays["k"].shape[-2]
    return make(n_query, n_key, like=call.arrays["q"], **settings)


def everyone(n_query, n_key, *, like):
    return np.ones((n_query, n_key), bool)


def tiled_is_naive(component, call):
    """Any tiles, any mask: values and gradients of the scores as a whole."""
    _compare(component, call, _mask_of(call, causal_mask if call.settings.get("causal") else everyone))


def band_is_a_mask(component, call):
    sides = {name: call.settings[name] for name in ("left", "right")}
    _compare(component, call, _mask_of(call, band_mask, **sides))


def window_is_a_mask(component, call):
    _compare(component, call, _mask_of(call, sliding_window_mask, window=call.settings["window"]))


def alternation_is_a_mask(component, call):
    settings = {name: call.settings[name] for name in ("layer", "window")}
    _compare(component, call, _mask_of(call, alternating_mask, **settings))


def strides_are_a_mask(component, call):
    n_seq = call.arrays["q"].shape[-2]
    _compare(component, call, strided_mask(n_seq, stride=call.settings["stride"], like=call.arrays["q"]))


IS_NAIVE = {
    tiled_attention: tiled_is_naive,
    split_kv_attention: tiled_is_naive,
    banded_attention: band_is_a_mask,
    sliding_window_attention: window_is_a_mask,
    alternating_attention: alternation_is_a_mask,
    strided_attention: strides_are_a_mask,
}


@pytest.mark.parametrize("function", IS_NAIVE, ids=lambda function: function.__name__)
def test_it_is_attention_under_a_mask(function):
    run(IS_NAIVE[function], component_of(function))


def tile_sizes_mean_nothing(component, call):
    """Every pair of tile sizes gives the same but for rounding."""
    of_outputs, of_gradients = spread_run(component, call)
    first = component.run(call)
    for tile_query, tile_key in [(1, 1), (2, 5), (100, 3), (100, 100)]:
        other = replace(call, settings=call.settings | {"tile_query": tile_query, "tile_key": tile_key})
        got = component.run(other)
        other_outputs, other_gradients = spread_run(component, other)
        spreads = both(of_outputs | of_gradients, other_outputs | other_gradients)
        assert_all_close(got[0] | got[1], first[0] | first[1], spreads, n_rounded=1)


def test_tile_sizes_mean_nothing():
    run(tile_sizes_mean_nothing, component_of(tiled_attention), weight=2)


def log_sum_exp_of_all_scores(component, call):
    """The second output is the log-sum-exp of the scores, whatever is dropped."""
    y, _ = component(call)
    y_spread, _ = spread_run(component, call)
    q, k, _, *bias = call.arrays.values()
    scale = 1.0 / np.sqrt(q.shape[-1]) if call.settings["scale"] is None else call.settings["scale"]
    softcap = call.settings["softcap"]
    products = q @ np.swapaxes(k, -1, -2) * scale
    scores = (products if softcap is None else softcap * np.tanh(products / softcap)) + sum(bias)
    mask = _mask_of(call, causal_mask if call.settings.get("causal") else everyone)
    mask = mask if call.settings["mask"] is None else mask & call.settings["mask"]
    want = logsumexp(np.where(mask, scores, -np.inf))
    assert_all_close({"y[1]": y[1]}, {"y[1]": want}, y_spread)


@pytest.mark.parametrize("function", [tiled_attention, split_kv_attention], ids=lambda function: function.__name__)
def test_the_second_output_is_the_log_sum_exp(function):
    run(log_sum_exp_of_all_scores, component_of(function))


def merging_in_steps(component, call):
    """Merging the parts two by two, in any order, is merging them at once."""
    (output, lse), _ = component(call)
    spreads, _ = spread_run(component, call)
    outputs, lses = call.arrays.values()
    order = np.random.default_rng(call.seed).permutation(len(outputs))
    partial = outputs[order[0]], lses[order[0]]
    for part in order[1:]:
        pair = np.stack([partial[0], outputs[part]]), np.stack([partial[1], lses[part]])
        partial = component.function(*pair)[0]
    n_step = len(order)
    got, want = ({"y[0]": pair[0], "y[1]": pair[1]} for pair in (partial, (output, lse)))
    assert_all_close(got, want, spreads, n_rounded=1 + n_step**2)  # the errors of n steps may all point one way


def test_merging_is_associative_and_commutative():
    run(merging_in_steps, component_of(merge_attention))


def shift_is_its_loop(component, call):
    """Not one bit is computed: every element stands where its distance says."""
    y, _ = component(call)
    x = call.arrays["x"]
    n_query, n_key = x.shape[-2:]
    for i in range(n_query):
        for j in range(n_key):
            distance = i + n_key - n_query - j
            want = x[..., i, n_key - 1 - distance] if distance >= 0 else np.zeros(x.shape[:-2])
            np.testing.assert_array_equal(y[..., i, j], want)


def test_the_shift_is_its_loop():
    run(shift_is_its_loop, component_of(relative_shift))


def relative_is_gathered(component, call):
    """Attention whose bias gathers, for every pair, the encoding of its own distance."""
    y, _ = component(call)
    spreads, _ = spread_run(component, call)
    q, k, v, r, content_bias, position_bias = call.arrays.values()
    n_query, n_key = q.shape[-2], k.shape[-2]
    scale = 1.0 / np.sqrt(q.shape[-1]) if call.settings["scale"] is None else call.settings["scale"]
    bias = np.zeros((*q.shape[:-1], n_key))
    for i in range(n_query):
        for j in range(max(0, i + n_key - n_query + 1)):
            distance = i + n_key - n_query - j
            encoding = r[:, n_key - 1 - distance]
            bias[..., i, j] = scale * np.sum((q[..., i, :] + position_bias) * encoding, axis=-1)
    mask = causal_mask(n_query, n_key, like=q)
    mask = mask if call.settings["mask"] is None else mask & call.settings["mask"]
    want, _ = attention(q + content_bias[:, None], k, v, bias, mask=mask, scale=scale)
    assert_all_close({"y": y}, {"y": want}, spreads)


def test_relative_attention_gathers_by_distance():
    run(relative_is_gathered, component_of(relative_attention))


def distant_tokens_mean_nothing(component, call):
    """Beyond the reach, and not global: a token that changes moves no other token's output by one bit."""
    n_seq = call.arrays["x"].shape[1]
    reach, ids = call.settings["reach"], call.arrays["global_ids"]
    is_global = np.any(ids[:, :, None] == np.arange(n_seq), axis=1)
    y, _ = component(call)
    for j in range(n_seq):
        changed = np.where((np.arange(n_seq) == j)[:, None], 7.0, call.arrays["x"])
        moved, _ = component(replace(call, arrays=call.arrays | {"x": changed}))
        unmoved = (np.abs(np.arange(n_seq) - j) > reach) & ~is_global & ~is_global[:, j : j + 1]
        np.testing.assert_array_equal(moved[unmoved], y[unmoved])


def test_longformer_sees_no_distant_token():
    run(distant_tokens_mean_nothing, component_of(longformer_attention))
