"""Faults of layers that other implementations really had; the numbers name the public reports."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given

from compare import strategies
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.tanh import tanh
from refimpl.models.bert.config import BertConfig
from tests.properties import checks
from tests.properties.component import Call
from tests.properties.examples import for_each, run
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

EPS64 = np.finfo(np.float64).eps


def test_N1_the_variance_is_the_biased_one_and_eps_lies_inside_the_root():
    """BERT-pytorch 30: [1, 0, 0, 0] gives 1.7320; 1.5 is the unbiased fault."""
    y, _ = layer_norm(np.array([1.0, 0.0, 0.0, 0.0]), {})
    assert f"{y[0]:.4f}" == "1.7320"
    # (1 - 1/4) / sqrt(3/16 + eps); with eps outside the root the fifth digit differs.
    want = 0.75 / math.sqrt(0.1875 + 1e-5)
    assert abs(y[0] - want) <= 4 * EPS64 * want
    assert abs(y[0] - 0.75 / (math.sqrt(0.1875) + 1e-5)) > 1e-6


def test_N2_eps_is_a_setting():
    """keras-hub 642: 1e-12 in BERT, 1e-5 in PyTorch."""
    assert BertConfig(4, 4, 2, 4, 2, 1, 4).norm_eps == 1e-12
    x = np.array([1e-4, -1e-4])
    of_bert, of_torch = layer_norm(x, {}, eps=1e-12)[0], layer_norm(x, {}, eps=1e-5)[0]
    np.testing.assert_array_equal(layer_norm(x, {})[0], of_torch)
    assert f"{of_bert[0]:.5f} {of_torch[0]:.5f}" == "0.99995 0.03161"


@pytest.mark.parametrize("rank", [3, 4])
def test_N4_gradients_at_ranks_3_and_4(rank):
    """FlagGems 5392: parameter gradients sum over every axis but the last."""

    @given(strategies.shapes(min_rank=rank, max_rank=rank, min_side=2).flatmap(_norm_calls))
    def check(call):
        component = component_of(layer_norm)
        checks.adjoint_identity(component, call)
        flat = Call({"x": call.arrays["x"].reshape(-1, call.arrays["x"].shape[-1])}, call.params, {}, call.seed)
        (_, gradients), (_, want) = component.run(call), component.run(flat)
        _, spreads = spread_run(component, flat)
        for key in ("params.weight", "params.bias"):
            assert_close(gradients[key], want[key], spreads[key].sigma, name=key)

    check()


def _norm_calls(shape):
    params = strategies.params({"weight": shape[-1:], "bias": shape[-1:]})
    return strategies.floating(shape).flatmap(lambda x: params.map(lambda params: Call({"x": x}, params, {})))


def test_N5_the_two_gelus_differ_by_473_millionths_near_270():
    """pocket-tts 278."""
    x = np.linspace(-6.0, 6.0, 120_001)
    difference = np.abs(gelu(x)[0] - gelu_tanh(x)[0])
    assert f"{difference.max():.2e}" == "4.73e-04"
    assert f"{abs(x[np.argmax(difference)]):.1f}" == "2.7"
    at_270 = np.array(2.70)
    assert f"{abs(gelu(at_270)[0] - gelu_tanh(at_270)[0]):.2e}" == "4.73e-04"


def test_N5_gelu_is_the_one_with_erf():
    """Against 30 digits; the tanh form is off by 10^11 units in the last place."""
    with mpmath.workdps(30):
        for x in (-3.0, -0.5, 0.1, 2.7):
            want = float(mpmath.mpf(x) * mpmath.ncdf(x))
            call = Call({"x": np.array([x])}, None, {})
            spreads, _ = spread_run(component_of(gelu), call)
            assert_close(gelu(np.array([x]))[0], np.array([want]), spreads["y"].sigma, name="gelu", n_rounded=1)


@pytest.mark.parametrize("f", [gelu, gelu_tanh])
def test_N5_the_second_derivative_at_0_is_0798(f):
    """2 / sqrt(2 pi), by complex step through the pullback."""
    step = 2.0**-200
    _, pullback = f(np.array([1j * step]))
    second = pullback(np.array([1.0]))[0].imag / step
    want = math.sqrt(2.0 / math.pi)
    assert abs(second[0] - want) <= 8 * EPS64
    assert f"{second[0]:.3f}" == "0.798"


@pytest.mark.parametrize("smoothing", [0.1, 0.5])
def test_L1_smoothing_an_impossible_target_is_defined(smoothing):
    """annotated-transformer 38: log-probability -inf gives an infinite loss and finite gradients, not NaN."""
    logits = np.array([[0.0, 1.0, -math.inf], [0.0, 1.0, 2.0]])
    y, pullback = cross_entropy(logits, np.array([2, 2]), label_smoothing=smoothing, reduction="none")
    assert y[0] == math.inf
    assert np.isfinite(y[1])
    (dlogits,) = pullback(np.ones(2))
    assert np.all(np.isfinite(dlogits))
    # -inf does not keep a class that is smoothed away from being worth 0 when there is no smoothing.
    y, pullback = cross_entropy(logits, np.array([1, 2]), label_smoothing=0.0, reduction="none")
    assert np.all(np.isfinite(y))


@for_each()
def test_T1_a_second_call_of_the_pullback_gives_the_same(component):
    """micrograd 53: gradients are returned, never accumulated."""
    run(checks.pure, component, weight=3)


def test_T1_nothing_accumulates_between_two_forwards():
    x = np.array([0.5])
    first, second = tanh(x)[1], tanh(x)[1]
    np.testing.assert_array_equal(first(np.ones(1))[0], second(np.ones(1))[0])
