import math

import numpy as np
import pytest

from refimpl.attention.alignment.additive import additive_attention

PARAMS = {
    "query.weight": np.zeros((1, 2)),
    "key.weight": np.array([[1.0, 0.0]]),
    "score.weight": np.array([[math.log(3.0) / math.tanh(2.0)]]),
}
Q, STATES = np.ones((1, 2)), np.array([[2.0, 8.0], [0.0, 4.0]])
EPS = np.finfo(np.float64).eps


def test_by_hand():
    """The scores are ln 3 and 0: the first state weighs 3/4, the second 1/4."""
    (gathered, weights), pullback = additive_attention(Q, STATES, PARAMS)
    assert np.all(np.abs(weights - [[0.75, 0.25]]) <= 8 * EPS)
    assert np.all(np.abs(gathered - [[1.5, 7.0]]) <= 64 * EPS)
    dq, dstates, dparams = pullback((np.ones((1, 2)), np.zeros((1, 2))))
    np.testing.assert_array_equal(dq, np.zeros((1, 2)))  # the query's weight is 0
    assert dstates.shape == (2, 2)
    assert dparams.keys() == PARAMS.keys()


def test_a_query_that_attends_to_nothing_gathers_nothing():
    mask = np.array([[False, False], [True, False]])
    (gathered, weights), pullback = additive_attention(np.ones((2, 2)), STATES, PARAMS, mask=mask)
    np.testing.assert_array_equal(weights, [[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(gathered, [[0.0, 0.0], [2.0, 8.0]])
    dq, _, _ = pullback((np.ones((2, 2)), np.ones((2, 2))))
    np.testing.assert_array_equal(dq[0], [0.0, 0.0])


@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf])
def test_padding_may_hold_anything(junk):
    mask = np.array([[True, False]])
    spoilt = np.array([STATES[0], [junk, junk]])
    clean, clean_pullback = additive_attention(Q, STATES, PARAMS, mask=mask)
    y, pullback = additive_attention(Q, spoilt, PARAMS, mask=mask)
    for got, want in zip(y, clean, strict=True):
        np.testing.assert_array_equal(got, want)
    dy = (np.ones((1, 2)), np.ones((1, 2)))
    np.testing.assert_array_equal(pullback(dy)[1], clean_pullback(dy)[1])


def test_no_states_at_all():
    (gathered, weights), pullback = additive_attention(Q, np.zeros((0, 2)), PARAMS)
    assert (gathered.tolist(), weights.shape) == ([[0.0, 0.0]], (1, 0))
    assert pullback((np.ones((1, 2)), np.ones((1, 0))))[1].shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score.weight": np.ones((2, 1))}, r"score.weight must have shape \(1, 1\), got \(2, 1\)"),
        ({"key.weight": np.ones((2, 2))}, r"key.weight must have shape \(1, 2\), got \(2, 2\)"),
        ({"query.weight": np.ones((1, 3))}, r"query.weight must have shape \(any, 2\), got \(1, 3\)"),
        ({"query.bias": np.ones(2)}, r"query.bias must have shape \(1,\), got \(2,\)"),
        ({"score.bias": np.ones(1)}, "params must have the keys"),
    ],
)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        additive_attention(Q, STATES, PARAMS | change)


def test_a_float_is_no_mask():
    with pytest.raises(TypeError, match="mask must be a boolean array"):
        additive_attention(Q, STATES, PARAMS, mask=np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"states must have shape \(any, 2\)"):
        additive_attention(Q, STATES[None], PARAMS)
