import numpy as np
import pytest

from refimpl.layers.activation import ACTIVATIONS
from refimpl.layers.gated import gated

X = np.array([[1.0, -2.0, 3.0, 5.0]])


def test_by_hand():
    y, pullback = gated(X, activation="relu")
    np.testing.assert_array_equal(y, [[3, 0]])
    np.testing.assert_array_equal(pullback(np.array([[10.0, 100.0]]))[0], [[30, 0, 10, 0]])


def test_the_second_half_may_be_the_gate():
    y, pullback = gated(X, activation="relu", gate="second")
    np.testing.assert_array_equal(y, [[3, -10]])
    np.testing.assert_array_equal(pullback(np.array([[10.0, 100.0]]))[0], [[30, 500, 10, -200]])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_opens_the_gate(activation):
    x = np.array([0.3, -1.2, 2.0, 0.7])
    opened, _ = ACTIVATIONS[activation](x[:2])
    np.testing.assert_array_equal(gated(x, activation=activation)[0], opened * x[2:])


def test_swapping_halves_and_gate_changes_nothing():
    swapped = np.concatenate([X[:, 2:], X[:, :2]], axis=-1)
    np.testing.assert_array_equal(gated(swapped, gate="second")[0], gated(X)[0])


def test_nothing():
    y, pullback = gated(np.ones((0, 4)))
    assert y.shape == (0, 2)
    assert pullback(y)[0].shape == (0, 4)


@pytest.mark.parametrize(
    ("x", "settings", "error", "message"),
    [
        (np.ones((2, 5)), {}, ValueError, "the size of x must be even: two halves, got 5"),
        (np.array(1.0), {}, ValueError, "x must have at least 1 axes"),
        (X, {"gate": "third"}, ValueError, "gate must be one of first, second, got 'third'"),
        (X, {"activation": "swish"}, ValueError, "activation must be one of relu, .*got 'swish'"),
        (np.ones((2, 4), np.int64), {}, TypeError, "x must be a floating array, got dtype int64"),
    ],
)
def test_bad_input(x, settings, error, message):
    with pytest.raises(error, match=message):
        gated(x, **settings)
