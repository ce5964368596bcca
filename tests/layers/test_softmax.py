import math

import numpy as np
import pytest

from refimpl.layers.softmax import log_softmax, logsumexp, softmax

INF = math.inf


def test_by_hand():
    y, pullback = softmax(np.array([0.0, math.log(3.0)]))
    np.testing.assert_array_equal(y, [0.25, 0.75])
    np.testing.assert_array_equal(pullback(np.array([1.0, 0.0]))[0], [0.1875, -0.1875])


def test_log_by_hand():
    y, pullback = log_softmax(np.zeros(4))
    np.testing.assert_array_equal(y, np.full(4, -math.log(4.0)))
    np.testing.assert_array_equal(pullback(np.array([1.0, 0.0, 0.0, 0.0]))[0], [0.75, -0.25, -0.25, -0.25])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_the_axis_is_the_one_that_sums_to_1(axis):
    y, _ = softmax(np.zeros((2, 4)), axis=axis)
    np.testing.assert_array_equal(y, np.full((2, 4), {0: 0.5, -2: 0.5, 1: 0.25, -1: 0.25}[axis]))


def test_all_minus_infinity_is_0_with_gradient_0():
    x = np.array([[-INF, -INF], [0.0, -INF]])
    y, pullback = softmax(x)
    np.testing.assert_array_equal(y, [[0, 0], [1, 0]])
    np.testing.assert_array_equal(pullback(np.array([[3.0, 4.0], [5.0, 6.0]]))[0], np.zeros((2, 2)))


def test_log_of_all_minus_infinity():
    y, pullback = log_softmax(np.array([-INF, -INF]))
    np.testing.assert_array_equal(y, [-INF, -INF])
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [0, 0])


def test_masked_entries_may_hold_anything():
    mask = np.array([True, False, True, False])
    y, pullback = softmax(np.array([1.0, np.nan, 1.0, INF]), mask=mask)
    np.testing.assert_array_equal(y, [0.5, 0, 0.5, 0])
    np.testing.assert_array_equal(pullback(np.array([1.0, 9.0, 0.0, 9.0]))[0], [0.25, 0, -0.25, 0])


def test_nothing_taking_part_is_0():
    y, pullback = softmax(np.ones(3), mask=np.zeros(3, bool))
    np.testing.assert_array_equal(y, np.zeros(3))
    np.testing.assert_array_equal(pullback(np.ones(3))[0], np.zeros(3))


@pytest.mark.parametrize("f", [softmax, log_softmax])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_zero_sizes(f, shape):
    y, pullback = f(np.zeros(shape))
    assert y.shape == pullback(y)[0].shape == shape


@pytest.mark.parametrize("large", [1e4, -1e4, 1e300])
def test_large_scores_do_not_overflow(large):
    np.testing.assert_array_equal(softmax(np.array([large, large]))[0], [0.5, 0.5])
    np.testing.assert_array_equal(log_softmax(np.array([large, large]))[0], [-math.log(2.0)] * 2)


@pytest.mark.parametrize("f", [softmax, log_softmax])
@pytest.mark.parametrize(
    ("x", "settings", "error", "message"),
    [
        (np.array(1.0), {}, ValueError, "x must have at least 1 axes, got shape"),
        (np.ones((2, 3)), {"axis": 2}, ValueError, r"axis must be in \[-2, 2\), got 2"),
        (np.ones((2, 3)), {"axis": -3}, ValueError, r"axis must be in \[-2, 2\), got -3"),
        (np.ones(3, int), {}, TypeError, "x must be a floating array, got dtype int64"),
        ([1.0, 2.0], {}, TypeError, "expected an array, got"),
    ],
)
def test_bad_input(f, x, settings, error, message):
    with pytest.raises(error, match=message):
        f(x, **settings)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones(3), TypeError, "mask must be a boolean array .*, got dtype float64"),
        (np.ones(4, bool), ValueError, r"mask must broadcast to \(2, 3\), got \(4,\)"),
        (np.ones((1, 2, 3), bool), ValueError, r"mask must broadcast to \(2, 3\), got \(1, 2, 3\)"),
    ],
)
def test_bad_masks(mask, error, message):
    with pytest.raises(error, match=message):
        softmax(np.ones((2, 3)), mask=mask)


def test_logsumexp_by_hand():
    y, pullback = logsumexp(np.array([[0.0, math.log(3.0)], [1000.0, -1000.0]]))
    np.testing.assert_array_equal(y, [math.log(4.0), 1000.0])
    np.testing.assert_array_equal(pullback(np.array([4.0, 5.0]))[0], [[1, 3], [5, 0]])


def test_logsumexp_of_minus_infinities_or_nothing():
    y, pullback = logsumexp(np.array([[-INF, -INF], [-INF, 2.0]]))
    np.testing.assert_array_equal(y, [-INF, 2])
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [[0, 0], [0, 1]])
    y, pullback = logsumexp(np.ones((2, 0)))
    np.testing.assert_array_equal(y, [-INF, -INF])
    assert pullback(np.ones(2))[0].shape == (2, 0)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_logsumexp_over_any_axis(axis):
    y, pullback = logsumexp(np.zeros((2, 4)), axis=axis)
    n = {0: 2, -2: 2, 1: 4, -1: 4}[axis]
    np.testing.assert_array_equal(y, np.full(8 // n, math.log(n)))
    np.testing.assert_array_equal(pullback(np.ones(8 // n))[0], np.full((2, 4), 1 / n))


def test_logsumexp_refuses():
    with pytest.raises(ValueError, match=r"axis must be in \[-1, 1\), got 1"):
        logsumexp(np.ones(3), axis=1)
    with pytest.raises(TypeError, match="x must be a floating array"):
        logsumexp(np.ones(3, np.int64))


@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_infinity_spreads_to_its_axis_and_no_further(function):
    x = np.array([[np.inf, 1.0, 2.0], [0.0, 1.0, 2.0]])
    with np.errstate(invalid="ignore"):
        y, pullback = function(x)
        (dx,) = pullback(np.ones((2, 3)))
    assert np.isnan(y[0]).all() and np.isnan(dx[0]).all()
    assert np.isfinite(y[1]).all() and np.isfinite(dx[1]).all()
