"""What only some layers promise."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compare import strategies
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.dropout import dropout, keep_mask
from refimpl.layers.embedding import embedding
from refimpl.layers.gelu import gelu
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.softmax import log_softmax, softmax
from tests.properties import draw_layers
from tests.properties.component import Call, cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run


@given(draw_layers.softmax_calls())
def test_softmax_rows_sum_to_1_or_0(call):
    component = component_of(softmax)
    axis = call.settings["axis"]
    y, _ = component(call)
    spreads, _ = spread_run(component, call)
    taking_part = np.broadcast_to(True if call.settings["mask"] is None else call.settings["mask"], y.shape)
    total, sigma = np.sum(y, axis=axis), np.sum(spreads["y"].sigma, axis=axis)
    assert_close(total, np.any(taking_part, axis=axis).astype(np.float64), sigma, name="row sum", n_rounded=1)
    assert np.all(y >= 0.0)
    assert np.all(y[~taking_part] == 0.0)


@given(draw_layers.softmax_calls(), st.sampled_from([-1024.0, 64.0, 4096.0]))
def test_softmax_is_blind_to_a_shift(call, shift):
    """Shifting in steps that are exact in binary: numbers are rounded to multiples of 2^-30 first."""
    x = np.round(call.arrays["x"] * 2.0**30) / 2.0**30
    for f, settings in [(softmax, call.settings), (log_softmax, {"axis": call.settings["axis"]})]:
        y, _ = f(x, **settings)
        np.testing.assert_array_equal(f(x + shift, **settings)[0], y)


@given(draw_layers.softmax_calls())
def test_softmax_gradients_sum_to_0(call):
    _assert_sums_to_0(component_of(softmax), call, "x", axis=call.settings["axis"])


@given(draw_layers.cross_entropy_calls())
def test_cross_entropy_gradients_sum_to_0(call):
    """But for the z-loss, which pushes all logits of a target one way."""
    without = replace(call, settings=call.settings | {"z_loss": 0.0})
    _assert_sums_to_0(component_of(cross_entropy), without, "logits", axis=-1)


@given(draw_layers.log_softmax_calls())
def test_log_softmax_gradients_sum_to_0(call):
    _assert_sums_to_0(component_of(log_softmax), call, "x", axis=call.settings["axis"])


def _assert_sums_to_0(component, call, name, axis):
    _, gradients = component.run(call)
    _, spreads = spread_run(component, call)
    total, sigma = np.sum(gradients[name], axis=axis), np.sum(spreads[name].sigma, axis=axis)
    assert_close(total, np.zeros(total.shape), sigma, name="row sum", n_rounded=1)


@given(draw_layers.layer_norm_calls())
def test_layer_norm_gradient_is_orthogonal_to_1_and_to_x_hat(call):
    """To x_hat exactly without eps; the eps leaves eps / (variance + eps) of what there is along it."""
    component = component_of(layer_norm)
    _, gradients = component.run(call)
    _, spreads = spread_run(component, call)
    x, sigma = call.arrays["x"].astype(np.longdouble), spreads["x"].sigma
    dx = gradients["x"]
    assert_close(np.sum(dx, axis=-1), np.zeros(x.shape[:-1]), np.sum(sigma, axis=-1), name="along 1", n_rounded=1)

    eps = call.settings["eps"]
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    x_hat = centred / np.sqrt(variance + eps)
    g = cotangents(x, call.seed) * (call.params.get("weight", 1.0))
    left = np.mean(g * x_hat, axis=-1) * (eps / (variance + eps) / np.sqrt(variance + eps))[..., 0] * x.shape[-1]
    along = np.sum(dx * x_hat, axis=-1)
    assert_close(along, left, np.sum(sigma * np.abs(x_hat), axis=-1), name="along x_hat", n_rounded=1)


@given(draw_layers.layer_norm_calls(), st.sampled_from([-4.0, 0.5, 32.0]), st.sampled_from([0.125, 8.0]))
def test_layer_norm_is_blind_to_shift_and_scale(call, shift, scale):
    """With eps scaled along; powers of two scale exactly, and so the same rounding is done to the same digits."""
    component = component_of(layer_norm)
    y, _ = component(call)
    x = call.arrays["x"]
    scaled = layer_norm(x * scale, call.params, eps=call.settings["eps"] * scale**2)[0]
    spreads, _ = spread_run(component, call)
    assert_close(scaled, y, spreads["y"].sigma, name="scaled")

    # Multiples of 2^-30, so that the shift itself is exact.
    exact = np.round(x * 2.0**30) / 2.0**30
    shifted_call = Call({"x": exact + shift}, call.params, call.settings)
    want, _ = layer_norm(exact, call.params, **call.settings)
    got, _ = component(shifted_call)
    assert_close(got, want, spread_run(component, shifted_call)[0]["y"].sigma, name="shifted")


@given(draw_layers.pointwise_calls())
def test_gelu_of_x_minus_gelu_of_minus_x_is_x(call):
    x = call.arrays["x"]
    spreads, _ = spread_run(component_of(gelu), call)
    mirrored, _ = spread_run(component_of(gelu), call.map_leaves(np.negative))
    sigma = np.sqrt(spreads["y"].sigma ** 2 + mirrored["y"].sigma ** 2)
    assert_close(gelu(x)[0] - gelu(-x)[0], x, sigma, name="x", n_rounded=1)


@given(strategies.generators(), st.sampled_from([0.1, 0.25, 0.5]))
def test_dropout_keeps_the_expectation(generator, rate):
    """The mean of n draws lies within 6 standard deviations, sqrt(rate / (1 - rate) / n), of 1."""
    n = 4000
    keep = keep_mask(generator, (n,), rate=rate)
    y, _ = dropout(np.ones(n), keep=keep, rate=rate)
    assert abs(np.mean(y) - 1.0) <= 6.0 * math.sqrt(rate / (1.0 - rate) / n)


@given(draw_layers.dropout_calls())
def test_dropout_sends_gradients_through_the_same_mask(call):
    component = component_of(dropout)
    (y, gradients), dy = component.run(call), cotangents(call.arrays["x"], call.seed)
    np.testing.assert_array_equal(gradients["x"] == 0.0, ~call.settings["keep"])
    np.testing.assert_array_equal(y["y"] == 0.0, ~call.settings["keep"])
    np.testing.assert_array_equal(gradients["x"], dropout(dy, **call.settings)[0])


@given(draw_layers.embedding_calls())
def test_embedding_gradient_is_a_plain_loop_over_ids(call):
    component = component_of(embedding)
    _, gradients = component.run(call)
    ids, table = call.arrays["ids"], call.params["weight"]
    dy = cotangents(np.zeros((*ids.shape, table.shape[1])), call.seed)
    want = np.zeros(table.shape, np.longdouble)
    for place in np.ndindex(*ids.shape):
        want[ids[place]] += dy[place]
    _, spreads = spread_run(component, call)
    assert_close(gradients["params.weight"], want, spreads["params.weight"].sigma, name="weight", n_rounded=1)
