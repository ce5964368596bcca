import math

import numpy as np
import pytest

from refimpl.layers.cross_entropy import cross_entropy

INF = math.inf
# Probabilities 1/4, 3/4 and 1/2, 1/2.
LOGITS = np.array([[0.0, math.log(3.0)], [7.0, 7.0]])


def test_by_hand():
    for reduction, want in [("none", [math.log(4.0), math.log(2.0)]), ("sum", math.log(8.0))]:
        y, _ = cross_entropy(LOGITS, np.array([0, 1]), reduction=reduction)
        # Two roundings of numbers below 4.
        assert np.all(np.abs(y - want) <= 4 * np.finfo(np.float64).eps)
    y, pullback = cross_entropy(LOGITS, np.array([0, 1]))
    assert abs(y - math.log(8.0) / 2) <= 4 * np.finfo(np.float64).eps
    np.testing.assert_array_equal(pullback(np.array(4.0))[0], [[-1.5, 1.5], [1, -1]])


def test_ignored_targets_do_not_count():
    y, pullback = cross_entropy(LOGITS, np.array([-100, 1]))
    assert y == cross_entropy(LOGITS[1:], np.array([1]))[0]
    np.testing.assert_array_equal(pullback(np.array(1.0))[0], [[0, 0], [0.5, -0.5]])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_all_ignored_is_0_with_gradient_0(reduction):
    y, pullback = cross_entropy(LOGITS, np.array([-1, -1]), ignore_index=-1, reduction=reduction)
    np.testing.assert_array_equal(y, 0.0)
    np.testing.assert_array_equal(pullback(np.ones(y.shape))[0], np.zeros((2, 2)))


def test_ignored_rows_may_hold_anything():
    logits = np.array([[math.nan, INF], [7.0, 7.0]])
    y, pullback = cross_entropy(logits, np.array([-100, 1]))
    assert y == math.log(2.0)
    np.testing.assert_array_equal(pullback(np.array(1.0))[0], [[0, 0], [0.5, -0.5]])


def test_a_class_may_be_ignored():
    y, _ = cross_entropy(LOGITS, np.array([0, 1]), ignore_index=0)
    assert y == math.log(2.0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_any_integers_are_targets(dtype):
    y, _ = cross_entropy(LOGITS[1:], np.array([1], dtype))
    assert y == math.log(2.0)


def test_smoothing_all_the_way_forgets_the_target():
    y, pullback = cross_entropy(np.zeros((1, 4)), np.array([2]), label_smoothing=1.0)
    assert y == math.log(4.0)
    np.testing.assert_array_equal(pullback(np.array(1.0))[0], np.zeros((1, 4)))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_an_impossible_class(smoothing):
    """Impossible classes cost nothing without smoothing, and infinitely much with it: never 0 times inf."""
    y, pullback = cross_entropy(np.array([[0.0, 0.0, -INF]]), np.array([1]), label_smoothing=smoothing)
    assert y == (math.log(2.0) if smoothing == 0.0 else INF)
    assert np.all(np.isfinite(pullback(np.array(1.0))[0]))


def test_no_targets():
    y, pullback = cross_entropy(np.zeros((0, 3)), np.zeros(0, np.int64))
    assert y == 0.0
    assert pullback(np.array(1.0))[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("logits", "targets", "settings", "error", "message"),
    [
        (LOGITS, [0], {}, ValueError, r"targets must have shape \(2,\), got \(1,\)"),
        (np.array(1.0), 0, {}, ValueError, "logits must have at least 1 axes, got shape"),
        (LOGITS, [0, 2], {}, ValueError, r"targets must lie in \[0, 2\), got values from 0 to 2"),
        (LOGITS, [0, -1], {}, ValueError, r"targets must lie in \[0, 2\), got values from -1 to 0"),
        (LOGITS, [0.0, 1.0], {}, TypeError, "targets must be an integer array, got dtype float64"),
        (LOGITS.astype(int), [0, 1], {}, TypeError, "logits must be a floating array, got dtype int64"),
        (LOGITS, [0, 1], {"label_smoothing": 1.1}, ValueError, r"label_smoothing must be in \[0, 1\], got 1.1"),
        (LOGITS, [0, 1], {"label_smoothing": math.nan}, ValueError, r"label_smoothing must be in \[0, 1\], got nan"),
        (LOGITS, [0, 1], {"reduction": "avg"}, ValueError, "reduction must be one of mean, sum, none, got 'avg'"),
    ],
)
def test_bad_input(logits, targets, settings, error, message):
    with pytest.raises(error, match=message):
        cross_entropy(logits, np.array(targets), **settings)


def test_class_weights_by_hand():
    weights = (3.0, 1.0)
    y, pullback = cross_entropy(LOGITS, np.array([0, 1]), class_weight=weights)
    # Losses 3 ln 4 and ln 2, over weights 3 + 1.
    assert abs(y - 7.0 * math.log(2.0) / 4.0) <= 8 * np.finfo(np.float64).eps
    np.testing.assert_array_equal(pullback(np.array(4.0))[0], [[-9 / 4, 9 / 4], [0.5, -0.5]])
    by_target, _ = cross_entropy(LOGITS, np.array([0, 1]), reduction="none")
    weighed, _ = cross_entropy(LOGITS, np.array([0, 1]), class_weight=weights, reduction="none")
    np.testing.assert_array_equal(weighed, by_target * weights)


def test_equal_class_weights_do_not_change_the_mean():
    y, _ = cross_entropy(LOGITS, np.array([0, 1]), class_weight=[2.0, 2.0])
    assert y == cross_entropy(LOGITS, np.array([0, 1]))[0]


def test_a_class_without_weight_may_be_impossible():
    y, pullback = cross_entropy(np.array([[-INF, 1.0], [0.0, 0.0]]), np.array([0, 1]), class_weight=(0.0, 1.0))
    assert y == math.log(2.0)
    np.testing.assert_array_equal(pullback(np.array(1.0))[0], [[0, 0], [0.5, -0.5]])


def test_only_targets_without_weight_give_0():
    y, pullback = cross_entropy(LOGITS, np.array([0, 0]), class_weight=(0.0, 1.0))
    assert y == 0.0
    np.testing.assert_array_equal(pullback(np.array(1.0))[0], np.zeros((2, 2)))


def test_z_loss_by_hand():
    """The log-sum-exp is ln 4 and 7 + ln 2; its gradient is the softmax."""
    z = np.array([math.log(4.0), 7.0 + math.log(2.0)])
    plain, plain_pullback = cross_entropy(LOGITS, np.array([0, 1]), reduction="none")
    y, pullback = cross_entropy(LOGITS, np.array([0, 1]), reduction="none", z_loss=0.5)
    assert np.all(np.abs(y - plain - 0.5 * z * z) <= 8 * np.finfo(np.float64).eps * y)
    dz = pullback(np.ones(2))[0] - plain_pullback(np.ones(2))[0]
    want = z[:, None] * np.array([[0.25, 0.75], [0.5, 0.5]])
    assert np.all(np.abs(dz - want) <= 16 * np.finfo(np.float64).eps * (1.0 + want))


def test_ignored_targets_have_no_z_loss():
    y, pullback = cross_entropy(np.array([[math.nan, INF], [7.0, 7.0]]), np.array([-100, 1]), z_loss=0.5)
    assert y == cross_entropy(LOGITS[1:], np.array([1]), z_loss=0.5)[0]
    np.testing.assert_array_equal(pullback(np.array(1.0))[0][0], [0, 0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"class_weight": (1.0,)}, r"class_weight must be 2 numbers, one for each class, none negative, got \(1.0,\)"),
        ({"class_weight": (1.0, -1.0)}, "class_weight must be 2 numbers.*none negative"),
        ({"class_weight": (1.0, math.nan)}, "class_weight must be 2 numbers.*none negative"),
        ({"z_loss": -1e-4}, "z_loss must be at least 0, got -0.0001"),
    ],
)
def test_bad_weights(settings, message):
    with pytest.raises(ValueError, match=message):
        cross_entropy(LOGITS, np.array([0, 1]), **settings)
