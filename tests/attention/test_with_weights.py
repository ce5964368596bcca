import math

import numpy as np
import pytest

from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.with_weights import attention_with_weights

GENERATOR = np.random.default_rng(5)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 3, 4), (2, 5, 4), (2, 5, 6)])
MASK = GENERATOR.random((2, 3, 5)) < 0.6
BIAS = GENERATOR.standard_normal((3, 5))


def test_by_hand():
    """Scores ln 2 and 0: weights 2/3 and 1/3, log-sum-exp ln 3."""
    q, k, v = np.array([[math.log(2.0)]]), np.array([[1.0], [0.0]]), np.array([[3.0], [6.0]])
    (y, weights, lse), pullback = attention_with_weights(q, k, v)
    np.testing.assert_array_equal(weights * 3.0, [[2, 1]])
    np.testing.assert_array_equal(y, [[4.0]])
    assert abs(lse[0] - math.log(3.0)) <= 2 * np.finfo(np.float64).eps
    # The log-sum-exp moves by the weights: by 2/3 of what moves the first score.
    dq, *_ = pullback((np.zeros((1, 1)), np.zeros((1, 2)), np.ones(1)))
    np.testing.assert_array_equal(dq * 3.0, [[2.0]])


def test_output_and_weights_are_those_of_attention_bit_for_bit():
    settings = {"mask": MASK, "softcap": 2.0, "scale": 0.7}
    (y, weights, lse), pullback = attention_with_weights(Q, K, V, BIAS, **settings)
    plain, plain_pullback = attention(Q, K, V, BIAS, **settings)
    np.testing.assert_array_equal(y, plain)
    np.testing.assert_array_equal(weights, attention_weights(Q, K, BIAS, **settings)[0])
    for got, want in zip(pullback((y, 0.0 * weights, 0.0 * lse)), plain_pullback(y), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_row_that_sees_nothing_has_the_logarithm_of_nothing():
    mask = np.ones((3, 5), bool)
    mask[1] = False
    (y, weights, lse), pullback = attention_with_weights(Q, K, V, mask=mask)
    np.testing.assert_array_equal(lse[:, 1], -math.inf)
    assert np.all(np.isfinite(lse[:, [0, 2]]))
    np.testing.assert_array_equal(weights[:, 1], 0.0)
    dq, dk, dv = pullback((y, weights, np.ones(lse.shape)))
    np.testing.assert_array_equal(dq[:, 1], 0.0)
    assert all(np.all(np.isfinite(x)) for x in (dk, dv))


def test_no_keys_have_the_logarithm_of_nothing():
    (y, weights, lse), _ = attention_with_weights(Q, K[:, :0], V[:, :0])
    np.testing.assert_array_equal(y, np.zeros((2, 3, 6)))
    assert weights.shape == (2, 3, 0)
    np.testing.assert_array_equal(lse, np.full((2, 3), -math.inf))


def test_huge_scores_do_not_overflow():
    (_, weights, lse), _ = attention_with_weights(1e4 * Q, 1e4 * K, V)
    assert np.all(np.isfinite(lse))
    np.testing.assert_array_equal(np.sum(weights, axis=-1), 1.0)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"k must have shape \(2, any, 4\), got \(2, 5, 6\)"):
        attention_with_weights(Q, V, V)
    with pytest.raises(ValueError, match=r"v must have shape \(2, 5, any\), got \(2, 4, 6\)"):
        attention_with_weights(Q, K, V[:, :4])
    with pytest.raises(ValueError, match=r"bias must broadcast to \(2, 3, 5\), got \(4, 5\)"):
        attention_with_weights(Q, K, V, np.zeros((4, 5)))
    with pytest.raises(ValueError, match=r"softcap must be positive, got 0\.0"):
        attention_with_weights(Q, K, V, softcap=0.0)
    with pytest.raises(TypeError, match="mask must be a boolean array"):
        attention_with_weights(Q, K, V, mask=np.ones((3, 5)))
