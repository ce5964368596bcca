import math

import numpy as np
import pytest
from hypothesis import given

from compare.cases.bug import rewritten
from refimpl.attention.linear.attention import causal_linear_attention, elu_plus_one, linear_attention
from refimpl.layers.relu import relu
from tests.properties import draw_grouped
from tests.properties.component import Call, cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

GENERATOR = np.random.default_rng(5)
Q, K, V = (GENERATOR.standard_normal(shape) for shape in [(2, 4, 3), (2, 6, 3), (2, 6, 5)])
CALL = Call({"q": Q, "k": K, "v": V}, None, {"feature_map": elu_plus_one}, 3)


def test_features_by_hand():
    y, pullback = elu_plus_one(np.array([2.0, 0.0, math.log(0.25)]))
    np.testing.assert_array_equal(y[:2], [3.0, 1.0])
    assert abs(y[2] - 0.25) <= np.finfo(np.float64).eps
    (dx,) = pullback(np.array([1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(dx, [1.0, 1.0, y[2]])


def test_features_far_below_0_keep_their_digits_and_far_above_do_not_overflow():
    y, pullback = elu_plus_one(np.array([-40.0, 1e300]))
    np.testing.assert_array_equal(y, [math.exp(-40.0), 1e300])
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [math.exp(-40.0), 1.0])


def test_by_hand():
    """Features of one number: 1 for 0, 2 for 1.  Weights 1 * 1 and 1 * 2 of 3."""
    y, _ = linear_attention(np.zeros((1, 1)), np.array([[0.0], [1.0]]), np.array([[3.0], [6.0]]))
    np.testing.assert_array_equal(y, [[5.0]])
    y, _ = causal_linear_attention(np.zeros((2, 1)), np.array([[0.0], [1.0]]), np.array([[3.0], [6.0]]))
    np.testing.assert_array_equal(y, [[3.0], [5.0]])


@given(draw_grouped.linear_attention_calls())
def test_the_last_query_of_the_causal_form_sees_what_all_see_in_the_other(call):
    y, _ = component_of(linear_attention)(call)
    causal, _ = component_of(causal_linear_attention)(call)
    spreads = [
        spread_run(component_of(f), call)[0]["y"].sigma[..., -1:, :]
        for f in (linear_attention, causal_linear_attention)
    ]
    assert_close(causal[..., -1:, :], y[..., -1:, :], sum(spreads), name="last query", n_rounded=1)


def later_keys_reach_nothing(function, call):
    """What stands after a position changes neither its output nor, from its dy, any gradient: not one bit."""
    q, k, v = call.arrays.values()
    n_query, n_key = q.shape[-2], k.shape[-2]
    settings = {"feature_map": call.settings["feature_map"]}
    y, pullback = function(q, k, v, **settings)
    for i in range(n_query):
        n_seen = max(i + 1 + n_key - n_query, 0)
        later = np.arange(n_key)[:, None] >= n_seen
        changed, _ = function(q, np.where(later, 7.0, k), np.where(later, np.pi, v), **settings)
        np.testing.assert_array_equal(changed[..., : i + 1, :], y[..., : i + 1, :])
        dy = np.where(np.arange(n_query)[:, None] <= i, cotangents(y, call.seed), 0.0)
        _, dk, dv = pullback(dy)
        np.testing.assert_array_equal(dk[..., n_seen:, :], 0.0)
        np.testing.assert_array_equal(dv[..., n_seen:, :], 0.0)


@given(draw_grouped.linear_attention_calls())
def test_causality_is_exact(call):
    later_keys_reach_nothing(causal_linear_attention, call)


def test_a_mask_off_by_one_is_rejected():
    wrong = rewritten(causal_linear_attention, "k.shape[-2] - q.shape[-2]", "k.shape[-2] - q.shape[-2] + 1")
    later_keys_reach_nothing(causal_linear_attention, CALL)
    with pytest.raises(AssertionError):
        later_keys_reach_nothing(wrong, CALL)


def test_keys_may_come_in_any_order(generator):
    order = generator.permutation(6)
    y, pullback = linear_attention(Q, K, V)
    got, got_pullback = linear_attention(Q, K[:, order], V[:, order])
    spreads, gradients = spread_run(component_of(linear_attention), CALL)
    assert_close(got, y, spreads["y"].sigma, name="y")
    dy = cotangents(y, 3)
    assert_close(got_pullback(dy)[1], pullback(dy)[1][:, order], gradients["k"].sigma[:, order], name="k")


def test_features_that_never_meet_give_0():
    """Under ReLU a query may share no feature with any key: nothing is divided by 0."""
    q, k, v = np.array([[1.0, -1.0]]), np.array([[-1.0, 1.0]]), np.array([[5.0]])
    for function in (linear_attention, causal_linear_attention):
        y, pullback = function(q, k, v, feature_map=relu)
        np.testing.assert_array_equal(y, [[0.0]])
        assert all(np.all(np.isfinite(x)) for x in pullback(np.ones((1, 1))))


def test_bad_input_is_refused():
    for function in (linear_attention, causal_linear_attention):
        with pytest.raises(ValueError, match=r"k must have shape \(2, any, 3\), got \(2, 6, 5\)"):
            function(Q, V, V)
        with pytest.raises(ValueError, match=r"v must have shape \(2, 6, any\), got \(2, 4, 3\)"):
            function(Q, K, Q)
        with pytest.raises(ValueError, match=r"is_token must broadcast to \(2, 6\), got \(5,\)"):
            function(Q, K, V, is_token=np.ones(5, bool))
        with pytest.raises(TypeError, match="is_token must be a boolean array"):
            function(Q, K, V, is_token=np.ones(6))
        with pytest.raises(ValueError, match="d_head must be at least 1, got 0"):
            function(Q[..., :0], K[..., :0], V)
        with pytest.raises(TypeError, match="k must have the dtype of q"):
            function(Q, K.astype(np.float32), V)
    with pytest.raises(TypeError, match="x must be a floating array"):
        elu_plus_one(np.arange(3))
