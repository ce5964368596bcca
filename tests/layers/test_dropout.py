import math

import numpy as np
import pytest

from refimpl.layers.dropout import dropout, keep_mask

KEEP = np.array([True, False, True])


def test_by_hand():
    y, pullback = dropout(np.array([1.0, 2.0, 3.0]), keep=KEEP, rate=0.5)
    np.testing.assert_array_equal(y, [2, 0, 6])
    np.testing.assert_array_equal(pullback(np.array([1.0, 1.0, 10.0]))[0], [2, 0, 20])


def test_what_is_dropped_may_hold_anything():
    y, pullback = dropout(np.array([1.0, math.nan, 1.0]), keep=KEEP, rate=0.5)
    np.testing.assert_array_equal(y, [2, 0, 2])
    np.testing.assert_array_equal(pullback(np.array([1.0, math.inf, 1.0]))[0], [2, 0, 2])


def test_rate_0_changes_nothing_and_rate_1_drops_all():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(dropout(x, keep=np.ones(3, bool), rate=0.0)[0], x)
    np.testing.assert_array_equal(dropout(x, keep=np.zeros(3, bool), rate=1.0)[0], np.zeros(3))


def test_the_mask_is_drawn_from_the_generator_alone(generator):
    state = generator.bit_generator.state
    mask = keep_mask(generator, (7, 3), rate=0.4)
    generator.bit_generator.state = state
    assert mask.dtype == bool
    np.testing.assert_array_equal(keep_mask(generator, (7, 3), rate=0.4), mask)
    assert keep_mask(generator, (50,), rate=0.0).all()
    assert not keep_mask(generator, (50,), rate=1.0).any()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"keep": KEEP, "rate": 1.5}, ValueError, r"rate must be in \[0, 1\], got 1.5"),
        ({"keep": KEEP, "rate": -0.1}, ValueError, r"rate must be in \[0, 1\], got -0.1"),
        ({"keep": KEEP, "rate": math.nan}, ValueError, r"rate must be in \[0, 1\], got nan"),
        ({"keep": KEEP[:2], "rate": 0.5}, ValueError, r"keep must have shape \(3,\), got \(2,\)"),
        ({"keep": KEEP[:1], "rate": 0.5}, ValueError, r"keep must have shape \(3,\), got \(1,\)"),
        ({"keep": KEEP.astype(float), "rate": 0.5}, TypeError, "keep must be a boolean array .*, got dtype float64"),
    ],
)
def test_bad_input(settings, error, message):
    with pytest.raises(error, match=message):
        dropout(np.ones(3), **settings)


def test_a_bad_rate_draws_nothing(generator):
    with pytest.raises(ValueError, match=r"rate must be in \[0, 1\], got 2.0"):
        keep_mask(generator, (3,), rate=2.0)
