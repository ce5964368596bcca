"""Faults of RMS norms that other implementations really had; the numbers name the public reports."""

import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.layers.rms_norm import rms_norm


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_N3_one_plus_weight_is_added_in_float32_and_cast_last(dtype):
    """vllm 29810: in 16 bits 1 + 2^-12 is 1, and the weight is gone."""
    x = narrow([3.0, -3.0], dtype)
    weight = narrow([0.0, 2.0**-12], dtype)
    _, pullback = rms_norm(x, {"weight": weight}, eps=0.0, weight_offset=1.0)
    assert narrow(1.0, dtype) + weight[1] == 1.0
    # Through the scale 1 + 2^-12 the gradient of x is (dy - mean) / 3 with a mean that tells the two apart.
    dy = narrow([1.0, 1.0], dtype)
    dx = pullback(dy)[0].astype(np.float64)
    g = np.array([1.0, 1.0 + 2.0**-12])
    x_hat = np.array([1.0, -1.0])
    want = (g - x_hat * np.mean(g * x_hat)) / 3.0
    assert np.all(np.abs(dx - want) <= {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype] * want)
    wide = np.linspace(0.5, 4.0, 64)
    big = narrow(np.full(64, 2.0**-9), dtype)
    y = rms_norm(narrow(wide, dtype), {"weight": big}, weight_offset=1.0)[0].astype(np.float64)
    exact = narrow(wide, dtype).astype(np.float64)
    exact = exact / np.sqrt(np.mean(exact * exact) + 1e-6) * (1.0 + 2.0**-9)
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    # Rounded once, and a little in float32.
    assert np.all(np.abs(y - exact) <= (unit + 8 * 2.0**-24) * exact)


def test_N3_one_is_folded_once():
    """A checkpoint that stores weight - 1 is read with the offset, or with 1 added to it: not with both."""
    x, weight = np.random.default_rng(0).normal(size=(2, 5, 8))[0], np.linspace(-0.5, 0.5, 8)
    stored, _ = rms_norm(x, {"weight": weight}, weight_offset=1.0)
    folded, _ = rms_norm(x, {"weight": 1.0 + weight})
    np.testing.assert_array_equal(stored, folded)
    twice, _ = rms_norm(x, {"weight": 1.0 + weight}, weight_offset=1.0)
    assert np.all(np.abs(twice - folded) > 0.5 * np.abs(folded))
