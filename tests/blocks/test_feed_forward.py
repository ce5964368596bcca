import numpy as np
import pytest

from refimpl.blocks.feed_forward import feed_forward

X = np.array([[1.0, -2.0]])
PARAMS = {
    "linear1.weight": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "linear1.bias": np.array([0.0, 0.0, 2.0]),
    "linear2.weight": np.array([[1.0, 1.0, 1.0], [0.0, 5.0, 2.0]]),
}


def test_by_hand():
    """Inside: [1, -2, 1], bent to [1, 0, 1]."""
    y, pullback = feed_forward(X, PARAMS)
    np.testing.assert_array_equal(y, [[2, 2]])
    dx, dparams = pullback(np.array([[1.0, 10.0]]))
    np.testing.assert_array_equal(dparams["linear2.weight"], [[1, 0, 1], [10, 0, 10]])
    np.testing.assert_array_equal(dparams["linear1.bias"], [1, 0, 21])
    np.testing.assert_array_equal(dparams["linear1.weight"], [[1, -2], [0, 0], [21, -42]])
    np.testing.assert_array_equal(dx, [[22, 21]])


@pytest.mark.parametrize(
    ("params", "settings", "error", "message"),
    [
        (PARAMS, {"activation": "swish"}, ValueError, "activation must be one of .*got 'swish'"),
        (PARAMS | {"linear1.wieght": X}, {}, ValueError, r"params must have the keys .*linear1\.wieght"),
        ({"linear1.weight": X}, {}, ValueError, r"params must have the keys linear1\.weight, linear2\.weight, .*got"),
        (PARAMS | {"linear2.weight": np.ones((2, 4))}, {}, ValueError, r"x must have shape \(1, 4\), got \(1, 3\)"),
    ],
)
def test_bad_input(params, settings, error, message):
    with pytest.raises(error, match=message):
        feed_forward(X, params, **settings)
