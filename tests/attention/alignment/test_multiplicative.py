import math

import numpy as np
import pytest

from refimpl.attention.alignment.multiplicative import multiplicative_attention
from refimpl.attention.dot_product import attention

Q, STATES = np.array([[math.log(3.0), 0.0]]), np.array([[1.0, 8.0], [0.0, 4.0]])
EPS = np.finfo(np.float64).eps
HALF_TURN = {"weight": np.array([[-1.0, 0.0], [0.0, -1.0]])}


def test_dot_by_hand():
    (gathered, weights), _ = multiplicative_attention(Q, STATES, {})
    assert np.all(np.abs(weights - [[0.75, 0.25]]) <= 8 * EPS)
    assert np.all(np.abs(gathered - [[0.75, 7.0]]) <= 64 * EPS)


def test_general_by_hand():
    """The weight turns the states round before they are compared; what is gathered stays as it was."""
    (gathered, weights), _ = multiplicative_attention(Q, STATES, HALF_TURN, score="general")
    assert np.all(np.abs(weights - [[0.25, 0.75]]) <= 8 * EPS)
    assert np.all(np.abs(gathered - [[0.25, 5.0]]) <= 64 * EPS)


def test_concat_by_hand():
    params = {"weight": np.array([[0.0, 0.0, 1.0, 0.0]]), "score.weight": np.array([[math.log(3.0) / math.tanh(1.0)]])}
    (_, weights), _ = multiplicative_attention(Q, STATES, params, score="concat")
    assert np.all(np.abs(weights - [[0.75, 0.25]]) <= 8 * EPS)


def test_dot_is_the_transformers_attention_without_its_scale():
    q, states = (np.random.default_rng(i).standard_normal((2, n, 4)) for i, n in enumerate((3, 5)))
    (gathered, _), pullback = multiplicative_attention(q, states, {})
    want, want_pullback = attention(q, states, states, scale=1.0)
    np.testing.assert_array_equal(gathered, want)
    dgathered = np.random.default_rng(2).standard_normal(gathered.shape)
    dq, dstates, dparams = pullback((dgathered, np.zeros((2, 3, 5))))
    dq_want, dk, dv = want_pullback(dgathered)
    np.testing.assert_array_equal(dq, dq_want)
    np.testing.assert_array_equal(dstates, dk + dv)
    assert dparams == {}


@pytest.mark.parametrize(
    ("params", "score", "message"),
    [
        ({}, "cosine", "score must be one of dot, general, concat, got 'cosine'"),
        ({}, "general", "params must have the keys weight, got none"),
        (HALF_TURN, "dot", "params must have the keys"),
        ({"weight": np.ones((3, 2))}, "general", r"weight must have shape \(2, 2\), got \(3, 2\)"),
        ({"weight": np.ones((3, 3)), "score.weight": np.ones((1, 3))}, "concat", r"weight must have shape \(any, 4\)"),
        ({"weight": np.ones((3, 4)), "score.weight": np.ones((1, 2))}, "concat", r"score.weight must have shape"),
    ],
)
def test_bad_parameters_are_refused(params, score, message):
    with pytest.raises(ValueError, match=message):
        multiplicative_attention(Q, STATES, params, score=score)


def test_dot_needs_one_width():
    with pytest.raises(ValueError, match=r"states must have shape \(any, 2\), got \(2, 3\)"):
        multiplicative_attention(Q, np.ones((2, 3)), {})
