import numpy as np
import torch
from transformers.activations import ACT2FN

from refimpl.layers.gelu import gelu
from refimpl.layers.quick_gelu import quick_gelu
from refimpl.layers.squared_relu import squared_relu

X = np.linspace(-6.0, 6.0, 121)


def test_it_is_that_of_transformers_and_not_gelu():
    y, _ = quick_gelu(X)
    assert np.abs(y - ACT2FN["quick_gelu"](torch.tensor(X)).numpy()).max() < 2.0**-50
    assert 0.015 < np.abs(y - gelu(X)[0]).max() < 0.025


def test_the_squared_relu_has_no_jump():
    y, pullback = squared_relu(X)
    np.testing.assert_array_equal(y, np.where(X > 0, X, 0.0) ** 2)
    np.testing.assert_array_equal(pullback(np.ones_like(X))[0], 2.0 * np.where(X > 0, X, 0.0))
