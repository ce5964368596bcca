"""16-bit arrays compute in float32 and store 16 bits, whatever is done to them."""

import ml_dtypes
import numpy as np
import pytest

from refimpl.arrays import Narrow, erf, logsumexp, narrow
from refimpl.arrays.narrow import DTYPES

BOTH = pytest.mark.parametrize("dtype", DTYPES)


@BOTH
def test_five_thousand_ones(dtype):
    ones = narrow(np.ones((5000, 2)), dtype)
    total = 5000.0 if dtype == "float16" else 4992.0  # the bfloat16 number next to 5,000
    np.testing.assert_array_equal(np.sum(ones, axis=0).astype(float), total)
    np.testing.assert_array_equal(np.einsum("nd->d", ones).astype(float), total)
    np.testing.assert_array_equal(np.matmul(narrow(np.ones((1, 5000)), dtype), ones).astype(float), total)
    np.testing.assert_array_equal(np.cumsum(ones, axis=0)[-1].astype(float), total)
    np.testing.assert_array_equal(np.mean(ones, axis=0).astype(float), 1)


def test_plain_float16_would_not_do():
    assert np.sum(np.ones((5000, 2), np.float16), axis=0)[0] == 2048


OPERATIONS = {
    "x + 2.0": lambda x: x + 2.0, "2.0 + x": lambda x: 2.0 + x, "x - 1": lambda x: x - 1, "1 - x": lambda x: 1 - x,
    "x * 0.1": lambda x: x * 0.1, "0.1 * x": lambda x: 0.1 * x, "x / 3.0": lambda x: x / 3.0,
    "3 / x": lambda x: 3 / x, "-x": lambda x: -x, "x * True": lambda x: x * True,
    "x * np.float64": lambda x: x * np.float64(0.1), "np.float32 * x": lambda x: np.float32(0.1) * x,
    "x + x": lambda x: x + x, "x * mask": lambda x: x * (x > 0), "element": lambda x: x[0, 0] * 2.0,
    "row": lambda x: x[0] * 2.0, "view": lambda x: x[..., ::-1] / 2.0, "transposed": lambda x: np.swapaxes(x, 0, 1),
    "where": lambda x: np.where(x > 0, x, 0.0), "where inf": lambda x: np.where(x > 0, -np.inf, x),
    "0-d sum": lambda x: np.sum(x) * 2.0, "0-d max": lambda x: np.max(x) + 1.0, "exp": lambda x: np.exp(x),
    "einsum": lambda x: np.einsum("ab,cb->ac", x, x) * 2.0, "matmul": lambda x: x @ x.T / 2.0,
    "stack": lambda x: np.stack([x, x]) * 2.0, "split": lambda x: np.split(x, 3, axis=1)[0] * 2.0,
    "pad": lambda x: np.pad(x, 1, mode="constant", constant_values=0.1), "like": lambda x: np.ones_like(x) * 0.1,
    "erf": lambda x: erf(x) * 2.0, "logsumexp": lambda x: logsumexp(x) * 2.0,
    "logsumexp of nothing": lambda x: logsumexp(x[:, :0]) * 2.0, "fancy": lambda x: x[np.array([0, 1])] * 2.0,
    "masked": lambda x: x[x > 0] * 2.0, "reshape": lambda x: np.reshape(x, (-1,)) * 0.1,
    "raw zeros": lambda x: x + np.zeros(3, x.dtype), "power": lambda x: x**2,
    "astype": lambda x: x.astype(x.dtype) * 2.0,
    "from float32": lambda x: x.astype(np.float32).astype(np.float32) + x,
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_becomes_float32(dtype, name):
    x = narrow(np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]]), dtype)
    y = OPERATIONS[name](x)
    assert isinstance(y, Narrow)
    assert y.dtype == DTYPES[dtype]


@BOTH
@pytest.mark.parametrize("name", ["x * 0.1", "x / 3.0", "3 / x", "exp", "power"])
def test_results_are_rounded_once(dtype, name):
    x = narrow(np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]]), dtype)
    in_float32 = OPERATIONS[name](x.astype(np.float32))
    np.testing.assert_array_equal(OPERATIONS[name](x), narrow(in_float32, dtype))


@BOTH
def test_what_is_no_float_is_a_plain_array(dtype):
    x = narrow(np.array([1.0, np.nan]), dtype)
    for y in (x > 0, np.isfinite(x), np.argmax(x, axis=0), np.argsort(x), x == x):
        assert not isinstance(y, Narrow)


@BOTH
@pytest.mark.parametrize("target", [np.float32, np.float64, np.int64, np.bool_])
def test_conversion_away_is_plain(dtype, target):
    y = narrow(np.ones(2), dtype).astype(target)
    assert type(y) is np.ndarray
    assert y.dtype == target


def test_conversion_between_16_bit_dtypes_stays_narrow():
    y = narrow(np.ones(2), "float16").astype(ml_dtypes.bfloat16)
    assert isinstance(y, Narrow)
    assert y.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "mix",
    [lambda a, b: a + b, lambda a, b: a > b, lambda a, b: np.concatenate([a, b]),
     lambda a, b: np.where(a > 0, a, b), lambda a, b: np.einsum("a,a->", a, b)],
)  # fmt: skip
def test_mixed_16_bit_dtypes_are_refused(mix):
    with pytest.raises(TypeError, match="expected one 16-bit dtype, got bfloat16 and float16"):
        mix(narrow(np.ones(2), "float16"), narrow(np.ones(2), "bfloat16"))


@BOTH
def test_nothing_is_written_into(dtype):
    x = narrow(np.ones(2), dtype)
    with pytest.raises(TypeError, match="never written into"):
        x += 1.0
    with pytest.raises(TypeError, match="never written into"):
        np.add(x, x, out=x)


@pytest.mark.parametrize("name", ["float16", np.float16, np.dtype(np.float16)])
def test_the_dtype_may_be_a_name(name):
    assert narrow([1.0], name).dtype == np.float16
    assert narrow([1.0], "bfloat16").dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("wrong", ["float32", np.float64, "int16", ml_dtypes.float8_e4m3fn])
def test_other_dtypes_are_refused(wrong):
    with pytest.raises(ValueError, match="dtype must be one of float16, bfloat16, got"):
        narrow(np.ones(2), wrong)


@BOTH
@pytest.mark.filterwarnings("error")
def test_what_is_too_large_is_infinite(dtype):
    np.testing.assert_array_equal(narrow([1e39, -1e39], dtype).astype(float), [np.inf, -np.inf])
    assert np.isinf((narrow([3e4], "float16") * 4.0).astype(float))


@BOTH
def test_wrapping_rounds_to_nearest_even(dtype):
    u = 2.0 ** (-11 if dtype == "float16" else -8)
    x = np.array([1 + u, 1 + 3 * u, 1 + 1.01 * u])
    np.testing.assert_array_equal(narrow(x, dtype).astype(float), [1, 1 + 4 * u, 1 + 2 * u])
