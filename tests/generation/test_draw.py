import numpy as np
import pytest

from refimpl.generation.draw import draw, uniforms
from refimpl.generation.filters import Filters
from refimpl.layers.softmax import softmax


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_token_has_the_share_of_numbers_that_it_is_probable(dtype, generator):
    """A grid over [0, 1) measures the sampler exactly: a share of the line has within one of its share of the grid."""
    n = 4096
    probabilities, _ = softmax(Filters(temperature=0.8, top_p=0.9).apply(generator.normal(size=(1, 30)).astype(dtype)))
    tokens = draw(np.repeat(probabilities, n, axis=0), (np.arange(n) + 0.5) / n)
    counts = np.bincount(tokens, minlength=30)
    exact = probabilities[0].astype(np.float64) / np.sum(probabilities, dtype=np.float64)
    assert np.all(np.abs(counts - n * exact) <= 1)
    assert np.all(counts[probabilities[0] == 0.0] == 0)
    assert np.all(np.diff(tokens) >= 0)


def test_a_token_of_probability_0_is_never_drawn():
    probabilities = np.array([[0.0, 0.5, 0.0, 0.5, 0.0]])
    ends = [0.0, 0.5, np.nextafter(0.5, 0), np.nextafter(1.0, 0)]
    assert [int(draw(probabilities, np.array([u]))[0]) for u in ends] == [1, 3, 1, 3]


def test_weights_need_not_sum_to_1():
    weights = np.array([[1e-300, 3e-300], [2.0, 6.0]])
    assert draw(weights, np.array([0.24, 0.26])).tolist() == [0, 1]


def test_numbers_come_from_a_generator_or_from_an_array():
    like = np.zeros(1)
    drawn = [uniforms(np.random.default_rng(3), 2, 0, like=like) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    table = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert uniforms(table, 2, 1, like=like).tolist() == [0.2, 0.4]


def test_too_few_numbers_are_refused():
    with pytest.raises(ValueError, match=r"the shape of uniforms must be \(2, at least 3\), got \(2, 2\)"):
        uniforms(np.zeros((2, 2)), 2, 2, like=np.zeros(1))
    with pytest.raises(TypeError, match=r"uniforms must come from a numpy.random.Generator or an array, got int"):
        uniforms(42, 2, 2, like=np.zeros(1))
    with pytest.raises(ValueError, match=r"uniform must have shape \(2,\), got \(1,\)"):
        draw(np.ones((2, 3)), np.zeros(1))


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(weight):
    with pytest.raises(ValueError, match="probabilities must be finite"):
        draw(np.array([[0.5, 0.5], [weight, 0.5]]), np.array([0.1, 0.1]))


@pytest.mark.parametrize("uniform", [-0.5, 1.0, 2.0, np.nan])
def test_numbers_that_are_no_share_are_refused(uniform):
    """One below 0 would draw the first token, even if it is forbidden."""
    with pytest.raises(ValueError, match=r"uniform must be in \[0, 1\), got 'a number outside'"):
        draw(np.array([[0.0, 1.0]]), np.array([uniform]))
