"""A kernel may start a sum of products from the bias that is added to it; the tolerance knows, and only there."""

import numpy as np
import pytest
import torch

from compare.interpretations.spread import spread
from compare.interpretations.spread_words import matmul, reshape

N_TERM, BIAS = 1536, 1.9


@pytest.fixture
def arrays(generator):
    x = 0.1 * generator.standard_normal((64, N_TERM))
    weight = generator.standard_normal((N_TERM, 200)) / N_TERM**0.5
    return x, weight, np.full(200, BIAS)


def shifted(x, weight, bias, *, between=lambda product: product):
    lifted = (spread(part, np.float64, value_dtype=np.longdouble) for part in (x, weight, bias))
    x, weight, bias = lifted
    return between(matmul(x, weight)) + bias


def test_sums_that_start_from_the_bias_are_within_the_tolerance(arrays):
    truth = shifted(*arrays)
    x, weight, bias = map(torch.tensor, arrays)
    fused = torch.addmm(bias, x, weight).numpy()
    in_sigma = ((fused - truth.value) / truth.sigma).astype(float)
    assert np.abs(in_sigma).max() < 10
    # Not so wide that anything passes: the spread is of the size of the error.
    assert np.sqrt(np.mean(in_sigma**2)) > 0.1


def test_only_what_is_added_to_a_bare_product_can_be_inside_its_sum(arrays):
    fused, apart = shifted(*arrays), shifted(*arrays, between=lambda product: reshape(product, product.shape))
    grown = N_TERM * (2.0**-53) ** 2 / 3 * np.maximum(BIAS**2 + BIAS * (apart.value - BIAS), 0)
    # The two variances and their difference were each rounded at most a few times.
    assert np.all(np.abs(fused.variance - apart.variance - grown) <= 8 * 2.0**-53 * fused.variance)


def test_a_bias_that_cancels_the_product_widens_nothing():
    x, weight = np.ones((1, 4)), np.ones((4, 1))
    truth = shifted(x, weight, np.array([-4.0]))
    assert truth.value.item() == 0
    lone = matmul(*(spread(part, np.float64, value_dtype=np.longdouble) for part in (x, weight)))
    assert truth.variance.item() == lone.variance.item()
