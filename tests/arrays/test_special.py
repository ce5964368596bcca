"""erf, logsumexp and scatter_add against mpmath, exact answers and plain loops."""

import math
import warnings

import mpmath
import numpy as np
import pytest

from compare.interpretations import strict_device
from refimpl.arrays import Narrow, erf, logsumexp, narrow, scatter_add

# --- erf --------------------------------------------------------------------------------------------------

X = np.concatenate([np.linspace(-7, 7, 401), [1e-300, -1e-20, 1e-8, 6.59, 6.6, 6.61, 26.0]])


def _exact(x):
    high = float(x)
    return mpmath.mpf(high) + mpmath.mpf(float(x - type(x)(high)))


def _relative_errors(x, y):
    with mpmath.workprec(160):
        pairs = [(mpmath.erf(_exact(a)), _exact(b)) for a, b in zip(x, y, strict=True) if a != 0]
        return np.array([float(abs(b - a) / abs(a)) for a, b in pairs])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_erf_is_right_to_the_last_places(dtype):
    x = X[abs(X) > np.finfo(dtype).tiny].astype(dtype)
    y = erf(x)
    assert y.dtype == dtype
    # Cephes claims 4e-16, which is 4 u in float64; its float32 version is computed with the same care.
    assert np.max(_relative_errors(x, y)) <= 4 * np.finfo(dtype).eps / 2


def test_erf_in_extended_precision():
    x = X.astype(np.longdouble)
    u = float(np.finfo(np.longdouble).eps) / 2
    # Rounding x² (to u) moves exp(-x²) by x² u, and the series has about that many terms of one sign; a dozen
    # operations come on top.  At most 60 u: a thirtieth of float64's unit, whose truth this is.
    bound = (12 + X[X != 0] ** 2) * u
    errors = _relative_errors(x, erf(x))
    assert np.all(errors <= np.minimum(bound, 60 * u))
    assert np.max(_relative_errors(x, erf(X).astype(np.longdouble))) > 60 * u  # rounded to float64: noticed


@pytest.mark.parametrize("dtype", ["float64", "float32", "longdouble", "float16", "bfloat16"])
@pytest.mark.filterwarnings("error")
def test_erf_of_what_is_not_finite(dtype):
    x = np.array([np.inf, -np.inf, np.nan, 0.0])
    x = narrow(x, dtype) if dtype in ("float16", "bfloat16") else x.astype(dtype)
    np.testing.assert_array_equal(erf(x).astype(float), [1, -1, np.nan, 0])


def test_erf_takes_a_complex_step():
    x = np.linspace(-3, 3, 13)
    derivative = erf(x + 1e-30j).imag / 1e-30
    exact = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    # exp(-x²) and SciPy's complex erf: x² u each, and a few operations.
    assert np.all(abs(derivative - exact) <= (12 + 4 * x * x) * 2.0**-53 * exact)


def test_erf_takes_a_complex_step_in_extended_precision():
    x = np.linspace(-3, 3, 13).astype(np.longdouble)
    derivative = erf(x + np.clongdouble(1e-30j)).imag / np.longdouble(1e-30)
    exact = np.exp(-x * x) * (erf(np.longdouble([1e-12])) / np.longdouble(1e-12))
    # As above, but the derivative of the series cancels that of exp(-x²), which is up to 2 |x|.
    u = np.finfo(np.longdouble).eps / 2
    assert np.all(abs(derivative - exact) <= (12 + 4 * x * x) * u * (1 + 2 * abs(x)))


def test_erf_keeps_the_kind_of_array():
    assert isinstance(erf(narrow(np.ones(2), "bfloat16")), Narrow)
    assert isinstance(erf(strict_device.asarray(np.ones(2))), strict_device.DeviceArray)
    assert erf(np.sum(np.ones(1, np.float32))).dtype == np.float32
    assert erf(np.ones((0, 3), np.longdouble)).shape == (0, 3)


# --- logsumexp --------------------------------------------------------------------------------------------


def test_logsumexp_of_equal_numbers():
    np.testing.assert_array_equal(logsumexp(np.zeros((2, 8))), np.full(2, math.log(8)))
    np.testing.assert_array_equal(logsumexp(np.array([[3.0], [-4.0]])), [3, -4])


@pytest.mark.filterwarnings("error")
def test_logsumexp_neither_overflows_nor_underflows():
    for shift in (0.0, 1000.0, -1000.0, 1e300, -1e300):
        assert logsumexp(np.array([shift, shift])) == shift + math.log(2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float64", "float32", "longdouble", "bfloat16"])
def test_logsumexp_of_rows_with_minus_infinity(dtype):
    rows = np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, 0.5, -np.inf], [0.0, 0.0, -np.inf]])
    rows = narrow(rows, dtype) if dtype == "bfloat16" else rows.astype(dtype)
    y = logsumexp(rows)
    np.testing.assert_array_equal(y[:2].astype(float), [-np.inf, 0.5])
    assert y[2] == np.log(np.ones((), dtype if dtype != "bfloat16" else rows.dtype) * 2).astype(rows.dtype)


@pytest.mark.filterwarnings("error")
def test_logsumexp_of_infinity_and_nan():
    y = logsumexp(np.array([[np.inf, 0.0], [np.inf, -np.inf], [np.nan, 0.0], [np.nan, -np.inf]]))
    np.testing.assert_array_equal(y, [np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 0, 0), (0, 4)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_logsumexp_of_nothing(shape, dtype):
    x = narrow(np.zeros(shape), dtype) if dtype == "bfloat16" else np.zeros(shape, dtype)
    y = logsumexp(x)
    assert y.shape == shape[:-1]
    assert y.dtype == x.dtype
    assert isinstance(y, Narrow) == (dtype == "bfloat16")
    assert np.all(y == -np.inf)


# --- scatter_add ------------------------------------------------------------------------------------------


def _loop(ids, values, n):
    table = np.zeros((n, values.shape[1]), values.dtype)
    for i, row in zip(ids, values, strict=True):
        table[i] += row
    return table


IDS = np.random.default_rng(0).integers(0, 5, size=40)
# Small integers: sums are exact in every dtype and in every order.
VALUES = np.random.default_rng(1).integers(-8, 9, size=(40, 3)).astype(np.float64)


@pytest.mark.parametrize("dtype", ["float64", "float32", "longdouble", "complex128", "float16", "bfloat16"])
def test_repeated_ids_add_up(dtype):
    values = narrow(VALUES, dtype) if dtype in ("float16", "bfloat16") else VALUES.astype(dtype)
    y = scatter_add(IDS, values, 7)
    assert y.dtype == values.dtype
    assert isinstance(y, Narrow) == isinstance(values, Narrow)
    np.testing.assert_array_equal(y.astype(np.complex128), _loop(IDS, VALUES, 7))
    assert np.all(y[5:] == 0)


def test_buffered_assignment_would_not_do():
    table = np.zeros((7, 3))
    table[IDS] += VALUES
    assert not np.array_equal(table, _loop(IDS, VALUES, 7))


def test_strict_device_arrays_add_up():
    y = scatter_add(strict_device.asarray(IDS), strict_device.asarray(VALUES), 7)
    np.testing.assert_array_equal(strict_device.asnumpy(y), _loop(IDS, VALUES, 7))


def test_autograd_boxes_add_up():
    from autograd import make_vjp

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vjp, y = make_vjp(lambda values: scatter_add(IDS, values, 7))(VALUES)
    np.testing.assert_array_equal(y, _loop(IDS, VALUES, 7))
    weights = np.arange(21.0).reshape(7, 3)
    np.testing.assert_array_equal(vjp(weights), weights[IDS])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_sums_are_kept_in_float32(dtype):
    y = scatter_add(np.zeros(4096, np.int64), narrow(np.ones((4096, 1)), dtype), 2)
    np.testing.assert_array_equal(y.astype(float), [[4096], [0]])


def test_nothing_to_add():
    y = scatter_add(np.zeros(0, np.int64), np.zeros((0, 3), np.float32), 2)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, np.zeros((2, 3)))


def test_ids_out_of_range_are_refused():
    with pytest.raises(IndexError):
        scatter_add(np.array([0, 2]), np.ones((2, 3)), 2)
