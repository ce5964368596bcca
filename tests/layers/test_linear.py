import numpy as np
import pytest

from refimpl.layers.linear import linear

X = np.array([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]])
PARAMS = {
    "weight": np.array([[1.0, -1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]),
    "bias": np.array([0.0, 10.0, 0.0, -1.0]),
}


def test_by_hand():
    y, pullback = linear(X, PARAMS)
    np.testing.assert_array_equal(y, [[-1, 12, 6, 2], [-1, 16, 12, 6], [-1.5, 8, 1.5, -1.5]])
    dy = np.zeros((3, 4))
    dy[1, 2] = 2.0
    dx, dparams = pullback(dy)
    np.testing.assert_array_equal(dx, [[0, 0], [0, 6], [0, 0]])
    np.testing.assert_array_equal(dparams["weight"], [[0, 0], [0, 0], [6, 8], [0, 0]])
    np.testing.assert_array_equal(dparams["bias"], [0, 0, 2, 0])


def test_without_bias_there_is_no_gradient_of_it():
    y, pullback = linear(X[0], {"weight": PARAMS["weight"]})
    np.testing.assert_array_equal(y, [-1, 2, 6, 3])
    assert list(pullback(y)[1]) == ["weight"]


@pytest.mark.parametrize(
    ("n_row", "d_in", "d_out"), [(0, 2, 3), (4, 0, 3), (4, 2, 0)], ids=["no rows", "nothing in", "nothing out"]
)
def test_zero_sizes(n_row, d_in, d_out):
    y, pullback = linear(np.ones((n_row, d_in)), {"weight": np.ones((d_out, d_in)), "bias": np.full(d_out, 7.0)})
    np.testing.assert_array_equal(y, np.full((n_row, d_out), 7.0 + d_in))
    dx, dparams = pullback(np.ones((n_row, d_out)))
    np.testing.assert_array_equal(dx, np.full((n_row, d_in), float(d_out)))
    np.testing.assert_array_equal(dparams["weight"], np.full((d_out, d_in), float(n_row)))


@pytest.mark.parametrize(
    ("x", "params", "error", "message"),
    [
        (X[:, :1], PARAMS, ValueError, r"x must have shape \(3, 2\), got \(3, 1\)"),
        (X[0, 0], PARAMS, ValueError, "x must have at least 1 axes, got shape"),
        (X, PARAMS | {"bias": np.ones(3)}, ValueError, r"bias must have shape \(4,\), got \(3,\)"),
        (X, PARAMS | {"weight": np.ones(2)}, ValueError, r"weight must have shape \(any, any\), got \(2,\)"),
        (X, {"bias": PARAMS["bias"]}, ValueError, r"must have the keys weight, bias \(optional\), got bias"),
        (X, PARAMS | {"wieght": X}, ValueError, "got bias, weight, wieght"),
        (X.astype(int), PARAMS, TypeError, "x must be a floating array, got dtype int"),
        (X.astype(np.float32), PARAMS, TypeError, "weight.* must have the dtype of x, float32, got float64"),
        (X.tolist(), PARAMS, TypeError, "expected an array, got"),
    ],
)
def test_bad_input(x, params, error, message):
    with pytest.raises(error, match=message):
        linear(x, params)
