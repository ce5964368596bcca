import numpy as np
import pytest
import torch

from refimpl.layers.patches import patches


def test_it_is_a_convolution_whose_stride_is_its_side(generator):
    x, weight, bias = (generator.standard_normal(shape) for shape in [(2, 3, 4, 6), (5, 3, 2, 2), 5])
    y, _ = patches(x, {"weight": weight, "bias": bias})
    expected = torch.nn.functional.conv2d(*map(torch.tensor, (x, weight, bias)), stride=2)
    assert np.abs(y - expected.flatten(2).mT.numpy()).max() < 2.0**-45


def test_patches_follow_the_rows_of_the_image():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    y, pullback = patches(x, {"weight": np.array([[[[1.0, 0.0], [0.0, 0.0]]]])})  # the upper left pixel of each
    assert y[0, :, 0].tolist() == [0.0, 2.0, 8.0, 10.0]
    dx, _ = pullback(np.array([[[1.0], [2.0], [3.0], [4.0]]]))
    assert dx[0, 0].tolist() == [[1, 0, 2, 0], [0, 0, 0, 0], [3, 0, 4, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("shape", "weight", "message"),
    [
        ((1, 2, 5, 4), (3, 2, 2, 2), "height must be a multiple of 2, the side of a patch, got 5"),
        ((1, 2, 4, 5), (3, 2, 2, 2), "width must be a multiple of 2"),
        ((1, 2, 4, 4), (3, 2, 2, 1), r"weight must have shape \(any, 2, 2, 2\), got \(3, 2, 2, 1\)"),
        ((1, 3, 4, 4), (3, 2, 2, 2), r"weight must have shape \(any, 3, any, any\)"),
    ],
)
def test_bad_sizes(shape, weight, message):
    with pytest.raises(ValueError, match=message):
        patches(np.ones(shape), {"weight": np.ones(weight)})
