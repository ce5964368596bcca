"""Spread arrays: operators, conversion and what they refuse.  The rules of the words are in test_spread_words."""

import ml_dtypes
import numpy as np
import pytest

from compare.interpretations import spread_words
from compare.interpretations.spread import Spread, bare, counting_softened, spread, stored
from refimpl.arrays import array_namespace

V = 1e-10


def _uncertain(values, variances, dtype=np.float32):
    return Spread(np.asarray(values, np.float64), np.asarray(variances, np.float64), dtype)


def test_lifted_arrays_are_exact():
    x = spread(np.array([1.0, 2.0]), np.float32)
    assert x.variance is None
    assert x.value.dtype == np.float64
    np.testing.assert_array_equal(x.sigma, [0, 0])


def test_integers_and_booleans_keep_their_dtype():
    assert spread(np.array([1, 2]), np.float32).dtype == np.int64
    assert spread(np.array([True]), np.float32).dtype == np.bool_


def test_the_truth_of_float64_is_kept_in_extended_precision():
    x = spread(np.array([0.1]), np.float64, value_dtype=np.longdouble)
    y = x * 3.0
    assert y.value.dtype == np.longdouble
    assert y.value[0] == np.longdouble(0.1) * 3
    assert 0 < y.sigma[0] <= 2.0**-53 * 0.3 / np.sqrt(3) * (1 + 2.0**-50)


@pytest.mark.parametrize("host", [np.ones(2), np.float64(2.0), np.ones(2, np.float32)])
@pytest.mark.parametrize("operation", [lambda x, y: x + y, lambda x, y: y + x, lambda x, y: x > y, lambda x, y: y / x])
def test_host_arrays_are_refused(host, operation):
    with pytest.raises(TypeError, match="expected a Spread or a Python number"):
        operation(spread(np.ones(2), np.float32), host)


def test_host_arrays_are_refused_by_the_namespace():
    with pytest.raises(TypeError, match="expected all arrays from one library"):
        array_namespace(spread(np.ones(2), np.float32), np.ones(2))


def test_a_mask_of_the_host_is_refused():
    mask = spread(np.array([True]), np.float32)
    with pytest.raises(TypeError, match="expected a Spread mask, got ndarray"):
        mask & np.array([True])


def test_a_number_that_the_dtype_holds_is_exact():
    x = spread(np.zeros(1), np.float32)
    assert (x + 0.5).variance[0] == pytest.approx(2.0**-48 / 3 * 0.25, rel=8 * 2.0**-53)  # the sum is stored
    assert (x + 0.1).variance[0] == pytest.approx(2 * 2.0**-48 / 3 * 0.01, rel=8 * 2.0**-53)  # and 0.1 rounded


def test_a_number_beyond_the_dtype_is_no_warning(recwarn):
    y = spread(np.ones(1), np.float16) * 1e6
    assert y.value[0] == 1e6
    assert not recwarn.list


def test_a_narrower_dtype_rounds_and_a_wider_one_does_not():
    x = _uncertain([3.0], [V])
    assert x.astype(np.float64).variance[0] == V
    assert x.astype(np.float32).variance[0] == V
    narrowed = x.astype(ml_dtypes.bfloat16)
    assert narrowed.dtype == ml_dtypes.bfloat16
    assert narrowed.variance[0] == pytest.approx(V + 2.0**-16 / 3 * 9, rel=8 * 2.0**-53)


def test_an_uncertain_mask_is_an_uncertain_number():
    mask = _uncertain([0.0], [V]) > 0
    assert mask.astype(np.float32).sigma[0] == 0.5
    assert mask.astype(np.int64).variance is None


def test_indices_move_value_and_variance_alike():
    x = _uncertain([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]])
    for index in (0, (..., -1), (slice(None), None), spread(np.array([1, 0, 1]), np.float32), x > 2.0):
        y = x[index]
        np.testing.assert_array_equal(y.value, y.variance)
        np.testing.assert_array_equal(y.value, x.value[bare(index)])


def test_an_exact_zero_stays_exact():
    zero = spread(np.zeros(1), np.float32)
    assert (zero * 3.0).sigma[0] == 0
    assert (zero * _uncertain([2.0], [V])).sigma[0] == 0
    assert (zero + _uncertain([0.0], [V])).sigma[0] > 0


def test_a_square_near_0_has_the_square_of_the_error():
    errors = np.random.default_rng(0).normal(scale=np.sqrt(V), size=1_000_000)
    for value in (0.0, 1e-6, 1e-5):
        x = _uncertain([value], [V])
        made = (value + errors) ** 2 - value**2
        # Factors count as independent, so that far from 0 a square's sigma is smaller by sqrt(2).
        assert 0.7 < (x * x).sigma[0] / np.sqrt(np.mean(made * made)) < 1.1


def test_the_root_undoes_a_square_near_0():
    errors = np.random.default_rng(0).normal(scale=np.sqrt(V), size=1_000_000)
    for value in (0.0, 1e-13, 1e-10, 1e-8):
        root = spread_words.sqrt(_uncertain([value], [3.0 * V * V]))  # of squares of a normal error
        made = np.sqrt(np.maximum(value + errors * errors, 0.0)) - np.sqrt(value)
        assert root.sigma[0] / np.sqrt(np.mean(made * made)) > 0.7
        assert root.sigma[0] < 1.4 * np.sqrt(V)


def test_small_float16_numbers_have_the_sigma_of_their_quantum():
    y = stored(np.array([1e-7]), 0.0, np.dtype(np.float16))
    assert y.sigma[0] >= 2.0**-24 / np.sqrt(12)


def test_mixed_dtypes_take_the_finer_one():
    a, b = spread(np.ones(1), np.float32), spread(np.ones(1), np.float64)
    assert (a + b).dtype == np.float64


def test_logic_of_uncertain_masks_keeps_the_probability_below_a_half():
    mask = _uncertain([0.0, 5.0], [V, V]) > 0
    for joined in (mask & mask, mask | mask, mask & (mask | mask)):
        np.testing.assert_array_equal(joined.variance, [0.25, 0])
    np.testing.assert_array_equal((~mask).variance, mask.variance)


def test_counts_of_softened_elements_nest():
    x = _uncertain([0.0, 1.0], [V, V])
    with counting_softened() as outer:
        spread_words.where(x > 0, x + 1.0, 0.0)
        with counting_softened() as inner:
            spread_words.where(x > 0, x + 1.0, 0.0)
    assert (outer(), inner()) == (1, 1)


def test_ids_are_read_as_integers():
    ids = spread(np.array([2, 0, 1]), np.float32)
    assert int(spread_words.max(ids)) == 2
    assert bool(spread_words.all(ids >= 0))
    assert len(ids) == 3


def test_it_shows_value_and_sigma():
    assert repr(_uncertain([1.0], [4.0])) == "Spread(array([1.]), sigma=array([2.]), dtype=float32)"
