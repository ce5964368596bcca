"""Every check is shown a wrong component, and must reject it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from refimpl.arrays import array_namespace
from refimpl.attention import dot_product
from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.mask import causal_mask
from refimpl.attention.multi_head import multi_head_attention, self_attention
from refimpl.blocks.encoder_block import pre_norm_block
from refimpl.layers.dropout import dropout
from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.layers.softmax import softmax
from refimpl.layers.tanh import tanh
from tests.properties import checks, test_attention
from tests.properties.examples import run
from tests.properties.registry import component_of


def rejects(check, function, wrong, error=AssertionError):
    """The check accepts the component and rejects the wrong one, on the same examples."""
    component = component_of(function)
    run(check, component)
    with pytest.raises(error), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(check, replace(component, function=wrong), shrink=False)


def with_pullback(function, change):
    """The same forward, with `change(gradients, dy)` of the gradients."""

    def wrong(*args, **settings):
        y, pullback = function(*args, **settings)
        return y, lambda dy: change(pullback(dy), dy)

    return wrong


def with_output(function, change):
    def wrong(*args, **settings):
        y, pullback = function(*args, **settings)
        return change(y, *args), pullback

    return wrong


# --- wrong derivatives ------------------------------------------------------------------------------------


def softmax_without_row_sum(x, *, mask=None, axis=-1):
    y, _ = softmax(x, mask=mask, axis=axis)
    return y, lambda dy: (y * dy,)


def layer_norm_without_mean_term(x, params, *, eps):
    y, pullback = layer_norm(x, params, eps=eps)

    def wrong(dy):
        xp = array_namespace(x)
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        inv_std = 1.0 / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + eps)
        g = dy * params["weight"] if "weight" in params else dy
        x_hat = centred * inv_std
        return inv_std * (g - x_hat * xp.mean(g * x_hat, axis=-1, keepdims=True)), pullback(dy)[1]

    return y, wrong


def dropout_rescaled_in_the_forward_only(x, *, keep, rate):
    y, _ = dropout(x, keep=keep, rate=rate)
    return y, lambda dy: (array_namespace(x).where(keep, dy, 0.0),)


def gelu_with_the_derivative_of_the_other(x):
    return gelu(x)[0], gelu_tanh(x)[1]


def _untransposed(gradients, dy):
    dq, dk, *others = gradients
    xp = array_namespace(dk)
    return dq, xp.reshape(xp.swapaxes(dk, -1, -2), dk.shape), *others


WRONG_DERIVATIVES = {
    "softmax gradient without its row-sum term": (softmax, softmax_without_row_sum),
    "layer norm gradient without its mean term": (layer_norm, layer_norm_without_mean_term),
    "dropout not rescaled in the backward": (dropout, dropout_rescaled_in_the_forward_only),
    "derivative of the tanh GELU for the erf GELU": (gelu, gelu_with_the_derivative_of_the_other),
    "dK not transposed": (attention, with_pullback(attention, _untransposed)),
    "dQ without scale": (attention, with_pullback(attention, lambda g, dy: (2.0 * g[0], *g[1:]))),
    "dW of one projection off by 0.1 %": (
        linear,
        with_pullback(linear, lambda g, dy: (g[0], g[1] | {"weight": 1.001 * g[1]["weight"]})),
    ),
    "the residual branch forgotten": (pre_norm_block, with_pullback(pre_norm_block, lambda g, dy: (g[0] - dy, g[1]))),
    "zeros": (tanh, with_pullback(tanh, lambda g, dy: (0.0 * g[0],))),
    "NaN": (tanh, with_pullback(tanh, lambda g, dy: (np.nan * g[0],))),
}


@pytest.mark.parametrize("bug", WRONG_DERIVATIVES)
@pytest.mark.parametrize("check", [checks.adjoint_identity, checks.agrees_with_autograd])
def test_wrong_derivatives_are_rejected(check, bug):
    rejects(check, *WRONG_DERIVATIVES[bug])


def test_a_wrong_second_derivative_is_rejected():
    """Right at first order, wrong at second: the slope is taken for a constant."""

    def frozen(x):
        y, _ = tanh(x)
        return y, lambda dy: (dy * (1.0 - y.real * y.real) + 0j,)

    rejects(checks.second_derivative, tanh, frozen)


def test_a_second_derivative_of_nan_is_rejected():
    rejects(checks.second_derivative, tanh, with_pullback(tanh, lambda g, dy: (np.nan * g[0],)))


# --- wrong forwards, with pullbacks that fit ---------------------------------------------------------------


def unbiased(x, params, *, eps):
    n = x.shape[-1]
    return layer_norm(x, params, eps=eps)[0] * float(np.sqrt((n - 1) / n)), layer_norm(x, params, eps=eps)[1]


def test_a_forward_that_does_not_fit_its_pullback_is_rejected():
    rejects(checks.adjoint_identity, layer_norm, unbiased)
    rejects(checks.agrees_with_autograd, layer_norm, unbiased)


def test_a_causal_mask_off_by_one_is_rejected(monkeypatch):
    def off_by_one(n_query, n_key, *, like):
        return causal_mask(n_query, n_key + 1, like=like)[:, :-1]

    run(test_attention.causality, component_of(self_attention))
    monkeypatch.setattr(test_attention, "causal_mask", off_by_one)
    with pytest.raises(AssertionError):
        run(test_attention.causality, component_of(self_attention), shrink=False)


def test_values_that_are_not_blanked_are_rejected(monkeypatch):
    monkeypatch.setattr(dot_product, "blank_unattended", lambda x, mask, axis: x)
    for function in (attention, attention_weights):
        with pytest.raises(AssertionError), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(
                lambda component, call: test_attention.nan_stays_in_padding(component, call, np.nan),
                component_of(function),
                shrink=False,
            )


def test_a_mask_that_is_forgotten_is_rejected():
    def unmasked(x, params, *, n_head, mask=None, keep=None, rate=0.0):
        return self_attention(x, params, n_head=n_head, keep=keep, rate=rate)

    rejects(test_attention.causality, self_attention, unmasked)
    rejects(test_attention.padding_is_nothing, self_attention, unmasked)


# --- behaviour --------------------------------------------------------------------------------------------


def nonlinear(gradients, dy):
    return (gradients[0] * dy, *gradients[1:])


def accumulating():
    """A pullback that accumulates over its calls."""

    def wrong(x):
        y, pullback = tanh(x)
        total = [0.0]

        def accumulate(dy):
            total[0] = total[0] + pullback(dy)[0]
            return (total[0],)

        return y, accumulate

    return wrong


def counting():
    """A forward whose result depends on how often it was called."""
    calls = []

    def wrong(x):
        calls.append(None)
        y, pullback = tanh(x)
        return y * (1.0 + len(calls) % 2), pullback

    return wrong


def mutating(x):
    x[...] = 0.0
    return tanh(x)


def reading_backwards(x):
    """Takes the memory for the array, as code for a device may."""
    base = getattr(x, "base", None)
    return tanh(x if base is None or base.size != x.size else base.reshape(x.shape))


def through_float16(x):
    return tanh(x.astype(np.float16).astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x)


def one_buffer(q, k, v, params, **settings):
    y, pullback = multi_head_attention(q, k, v, params, **settings)

    def wrong(dy):
        dq, dk, _, dparams = pullback(dy)
        return dq, dk, dk, dparams

    return y, wrong


def in_float64(x):
    y, pullback = tanh(x)
    return y.astype(np.float64), lambda dy: pullback(dy.astype(y.dtype))


BEHAVIOURS = {
    "pullback not linear": (checks.linear_pullback, tanh, with_pullback(tanh, nonlinear)),
    "pullback that accumulates": (checks.pure, tanh, accumulating()),
    "result that depends on the call count": (checks.pure, tanh, counting()),
    "mutated input": (checks.untouched, tanh, mutating, ValueError),
    "aliased output": (checks.untouched, tanh, with_output(tanh, lambda y, x: x)),
    "aliased gradient": (checks.untouched, tanh, with_pullback(tanh, lambda g, dy: (dy,))),
    "gradients that share memory": (checks.untouched, multi_head_attention, one_buffer),
    "wrong dtype": (checks.shapes_and_dtypes, tanh, in_float64),
    "wrong dtype of a gradient": (
        checks.shapes_and_dtypes,
        tanh,
        with_pullback(tanh, lambda g, dy: (g[0].astype(np.float64),)),
    ),
    "a gradient missing": (checks.shapes_and_dtypes, linear, with_pullback(linear, lambda g, dy: (g[0], {}))),
    "a gradient not summed": (
        checks.shapes_and_dtypes,
        layer_norm,
        with_pullback(layer_norm, lambda g, dy: (g[0], dict.fromkeys(g[1], dy))),
    ),
    "16-bit numbers inside a float32 component": (checks.within_the_spread, tanh, through_float16),
    "memory read in the wrong order": (checks.indifferent_to_layout, tanh, reading_backwards),
    "batch order that matters": (
        checks.indifferent_to_batch_order,
        tanh,
        with_pullback(tanh, lambda g, dy: (array_namespace(dy).cumsum(g[0], axis=0),)),
    ),
    "an empty batch that is not empty": (
        checks.happy_with_nothing,
        linear,
        with_pullback(linear, lambda g, dy: (g[0], {key: 1.0 + value for key, value in g[1].items()})),
    ),
}


@pytest.mark.parametrize("bug", BEHAVIOURS)
def test_wrong_behaviour_is_rejected(bug):
    rejects(*BEHAVIOURS[bug])
