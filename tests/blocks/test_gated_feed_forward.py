import numpy as np
import pytest

from refimpl.blocks.gated_feed_forward import gated_feed_forward

PARAMS = {
    "gate_proj.weight": np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
    "up_proj.weight": np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]),
    "down_proj.weight": np.array([[1.0, 1.0, 1.0], [0.0, 10.0, 0.0]]),
}


def test_by_hand():
    """x = (1, 2): gates (1, 2, -1), values (2, 6, 3), hidden (2, 12, 0)."""
    y, pullback = gated_feed_forward(np.array([[1.0, 2.0]]), PARAMS, activation="relu")
    np.testing.assert_array_equal(y, [[14, 120]])
    dx, dparams = pullback(np.array([[1.0, 0.0]]))
    # dhidden (1, 1, 1): dgate (2, 6, 0), dup (1, 2, 0).
    np.testing.assert_array_equal(dx, [[2 + 2, 6 + 6]])
    np.testing.assert_array_equal(dparams["gate_proj.weight"], [[2, 4], [6, 12], [0, 0]])
    np.testing.assert_array_equal(dparams["up_proj.weight"], [[1, 2], [2, 4], [0, 0]])
    np.testing.assert_array_equal(dparams["down_proj.weight"], [[2, 12, 0], [0, 0, 0]])


def test_gradients_keep_the_order_of_the_parameters():
    params = {**{key: PARAMS[key] for key in reversed(PARAMS)}, "up_proj.bias": np.ones(3)}
    _, pullback = gated_feed_forward(np.ones((1, 2)), params)
    assert list(pullback(np.ones((1, 2)))[1]) == list(params)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"up_proj.weight": np.ones((4, 2))}, ValueError, r"up_proj.weight must have shape .*, got \(4, 2\)"),
        ({"down_proj.weight": np.ones((2, 4))}, ValueError, r"must have shape \(1, 4\), got \(1, 3\)"),
        ({"gate.weight": np.ones((3, 2))}, ValueError, "params must have the keys .*got .*gate.weight"),
        ({"gate_proj.weight": np.ones((3, 2), np.float32)}, TypeError, "weight.*float32"),
    ],
)
def test_bad_input(change, error, message):
    with pytest.raises(error, match=message):
        gated_feed_forward(np.ones((1, 2)), PARAMS | change)
