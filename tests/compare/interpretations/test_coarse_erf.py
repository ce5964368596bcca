"""The GELU of PyTorch needs its declaration, which loosens nothing where it is not made."""

from contextlib import nullcontext

import numpy as np
import torch

from compare.interpretations.policy import erf_by_polynomial, erf_variance
from compare.interpretations.spread import spread
from refimpl.layers.gelu import gelu, gelu_tanh

X = np.linspace(-6, 6, 100_000, dtype=np.float32)  # without 0, where everything is exact


def worst_sigma(found, declared):
    with declared():
        truth, _ = gelu(spread(X, np.float32))
    return float(np.max(np.abs(found.astype(np.float64) - truth.value) / truth.sigma))


def test_the_gelu_of_torch_is_coarser_than_float32_and_as_coarse_as_declared():
    found = torch.nn.functional.gelu(torch.tensor(X)).numpy()
    assert worst_sigma(found, nullcontext) > 8
    assert worst_sigma(found, erf_by_polynomial) < 6


def test_the_same_formula_with_the_erf_of_torch_needs_no_declaration():
    x = torch.tensor(X)
    assert worst_sigma((x * 0.5 * (1 + torch.erf(x / 2**0.5))).numpy(), nullcontext) < 4


def test_the_declaration_does_not_let_tanh_pass_for_erf():
    assert worst_sigma(gelu_tanh(X)[0], erf_by_polynomial) > 100


def test_the_declaration_ends_with_its_block():
    with erf_by_polynomial():
        assert erf_variance() > 0
    assert erf_variance() == 0
