"""widen, cast and table_dtype keep what is wide enough and never leave raw 16-bit arrays behind."""

import numpy as np
import pytest

from compare.interpretations import cost, strict_device
from compare.interpretations.spread import Spread, spread
from refimpl.arrays import Narrow, cast, narrow, table_dtype, widen
from refimpl.arrays.narrow import DTYPES


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble", "complex64", "complex128", "clongdouble"])
def test_wide_arrays_stay_the_same_object(dtype):
    x = np.ones(3, dtype)
    assert widen(x) is x
    assert cast(x, x.dtype) is x


@pytest.mark.parametrize("dtype", DTYPES)
def test_16_bits_are_widened_and_come_back_as_narrow(dtype):
    x = narrow([1.0, 1.0 + 2.0**-7, -3.0], dtype)
    wide = widen(x)
    assert wide.dtype == np.float32
    assert not isinstance(wide, Narrow)
    back = cast(wide, x.dtype)
    assert isinstance(back, Narrow)
    assert back.dtype == DTYPES[dtype]
    np.testing.assert_array_equal(back, x)


def test_positions_256_and_257_differ_when_they_are_widened_only():
    positions = np.array([256.0, 257.0], np.float32)
    assert len(set(cast(positions, DTYPES["bfloat16"]).tolist())) == 1
    assert len(set(positions.astype(table_dtype(narrow(positions, "bfloat16"))).tolist())) == 2


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64")],
)
def test_every_kind_of_array_agrees(dtype, expected):
    host = narrow([1.0], dtype) if dtype in DTYPES else np.ones(1, dtype)
    exact = spread(np.ones(1), host.dtype)
    for x in (host, exact, strict_device.asarray(host), cost.lift(host)):
        assert np.dtype(table_dtype(x)) == expected
        assert widen(x).dtype == expected
        assert cast(widen(x), x.dtype).dtype == host.dtype


def test_casting_a_spread_array_to_16_bits_rounds_it():
    exact = Spread(np.array([1.0 + 2.0**-12]), None, np.float32)
    assert cast(exact, DTYPES["bfloat16"]).sigma[0] > 0


def test_table_dtype_of_complex_is_real():
    assert table_dtype(np.ones(1, complex)) is np.float64
