"""Autograd's quiet way of being wrong is an error here, and the oracles agree on what is known by hand."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

from refimpl.layers.tanh import tanh
from tests.properties.autograd_oracle import autograd_gradients
from tests.properties.component import Call, complex_step, cotangents
from tests.properties.registry import component_of

CALL = Call({"x": np.array([0.0, 0.5])}, None, {}, seed=3)


def test_a_gradient_that_is_silently_0_is_an_error():
    with pytest.raises(UserWarning, match="Output seems independent of input"):
        autograd.grad(lambda x: anp.sum(anp.array(3.0)))(np.ones(2))


def test_both_oracles_know_the_slope_of_tanh_at_0():
    (y, _), derivative = complex_step(component_of(tanh), CALL, {"x": np.array([2.0, 0.0])})
    np.testing.assert_array_equal(derivative(y), [2, 0])
    dy = cotangents(np.zeros(2), CALL.seed)
    assert autograd_gradients(component_of(tanh), CALL)["x"][0] == dy[0]
