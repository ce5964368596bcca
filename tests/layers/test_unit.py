"""Vectors of length 1: their direction is kept, whatever their length was."""

import numpy as np
import pytest
import torch

from refimpl.arrays import narrow
from refimpl.layers.unit import unit_vectors


def test_a_vector_keeps_its_direction():
    y, pullback = unit_vectors(np.array([[3.0, 4.0], [0.0, -2.0]]))
    assert y.tolist() == [[0.6, 0.8], [0.0, -1.0]]
    (dx,) = pullback(np.array([[3.0, 4.0], [1.0, 7.0]]))
    assert dx[1].tolist() == [0.5, 0.0]  # what is along y is gone, the rest is divided by the length
    assert np.all(np.abs(dx[0]) < 5.0 * np.finfo(float).eps)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [1e-4, 1e-6, 1.0, 1e4])
def test_squares_of_16_bits_neither_vanish_nor_overflow(size, dtype):
    x = narrow(size * np.array([[3.0, -4.0], [-1.0, 0.0]]), np.dtype(dtype))
    y, pullback = unit_vectors(x)
    dy = narrow(size * np.array([[1.0, 2.0], [1.0, 2.0]]), np.dtype(dtype))
    (dx,) = pullback(dy)
    assert y.dtype == dx.dtype == x.dtype
    of_torch = torch.from_numpy(x.astype(np.float64)).requires_grad_()
    want = torch.nn.functional.normalize(of_torch, dim=-1)
    want.backward(torch.from_numpy(dy.astype(np.float64)))
    for got, exact in [(y, want.detach()), (dx, of_torch.grad)]:
        # To the nearest number of the dtype, but for what float32 rounds before.
        nearest = narrow(exact.numpy(), np.dtype(dtype)).astype(np.float64)
        unit = np.finfo(np.float16).eps if dtype == "float16" else 2.0**-7
        assert np.all(np.abs(got.astype(np.float64) - nearest) <= unit * np.abs(nearest))


def test_a_vector_of_0_points_nowhere():
    y, _ = unit_vectors(np.zeros((2, 3)))
    assert y.tolist() == [[0.0] * 3] * 2


def test_a_number_is_no_vector():
    with pytest.raises(ValueError, match="x must have"):
        unit_vectors(np.array(1.0))
