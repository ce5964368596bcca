"""The strict device refuses what CuPy 14 refuses."""

import math

import numpy as np
import pytest

from compare.interpretations import strict_device, strict_device_words
from compare.interpretations.strict_device import DeviceArray, asarray, asnumpy, current_device
from refimpl.arrays import array_namespace, narrow, scatter_add

HOST = np.arange(6.0, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def x():
    return asarray(HOST)


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
}  # fmt: skip


@pytest.mark.parametrize("other", [HOST, [[1.0]], (1.0,), HOST[0, :1], np.array(1.0), None, "1"], ids=repr)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_refuse_what_is_not_on_the_device(x, name, other):
    with pytest.raises(TypeError, match=r"Unsupported type|unsupported operand"):
        OPERATORS[name](x, other)


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "<", "=="])
def test_operators_refuse_host_arrays_on_the_left(x, name):
    with pytest.raises(TypeError, match="Unsupported type"):
        OPERATORS[name](HOST, x)


WORDS = {
    "exp": lambda xp, h: xp.exp(h),
    "where": lambda xp, h: xp.where(h > 0, asarray(h), 0.0),
    "where branch": lambda xp, h: xp.where(asarray(h > 0), h, 0.0),
    "sum": lambda xp, h: xp.sum(h, axis=0),
    "matmul": lambda xp, h: xp.matmul(asarray(h), h.T),
    "einsum": lambda xp, h: xp.einsum("ab,cb->ac", asarray(h), h),
    "reshape": lambda xp, h: xp.reshape(h, (3, 2)),
    "concatenate": lambda xp, h: xp.concatenate([asarray(h), h], axis=0),
    "stack of an array": lambda xp, h: xp.stack(asarray(h), axis=0),
    "split": lambda xp, h: xp.split(asarray(h), np.array([1]), axis=0),
    "tril": lambda xp, h: xp.tril(h),
    "asarray": lambda xp, h: xp.asarray(h, dtype=xp.float32),
    "zeros_like": lambda xp, h: xp.zeros_like(h),
    "erf": lambda xp, h: xp.erf(h),
    "scatter_add": lambda xp, h: xp.scatter_add(np.array([0, 1]), asarray(h), 2),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_refuse_host_arrays(name):
    with pytest.raises(TypeError):
        WORDS[name](strict_device_words, HOST)


@pytest.mark.parametrize("text", ["xp.exp([1.0])", "xp.sum([1.0, 2.0])", "xp.exp(2.0)", "xp.exp(None)"])
def test_words_refuse_lists_and_numbers(text):
    with pytest.raises(TypeError, match="Unsupported type"):
        eval(text, {"xp": strict_device_words})


@pytest.mark.parametrize("convert", [np.asarray, np.array, np.sum, np.mean, np.zeros_like, np.concatenate])
def test_implicit_conversion_to_the_host_is_refused(x, convert):
    with pytest.raises(TypeError):
        convert(x)


def test_the_refusal_tells_the_way_back(x):
    with pytest.raises(TypeError, match=r"use strict_device\.asnumpy\(x\)"):
        np.asarray(x)
    np.testing.assert_array_equal(asnumpy(x), HOST)


@pytest.mark.parametrize("ufunc", [np.exp, np.negative, np.add, np.matmul])
def test_numpy_ufuncs_are_refused(x, ufunc):
    with pytest.raises(TypeError):
        ufunc(*[x] * ufunc.nin)


def test_python_numbers_take_the_dtype_of_the_array(x):
    for y in (x + 1, 2.0 * x, 1 - x, x / 3, x * math.pi, True * x):
        assert y.dtype == np.float32


def test_numpy_scalars_promote_as_in_numpy_2(x):
    # CuPy takes them, and a float64 scalar makes float64 of float32: the trap of x / np.sqrt(d).
    assert (x * np.float64(2.0)).dtype == np.float64
    assert (np.float64(2.0) * x).dtype == np.float64
    assert (x * np.float32(2.0)).dtype == np.float32
    assert isinstance(np.float64(2.0) * x, DeviceArray)


def test_reductions_and_elements_are_0d_arrays(x):
    xp = strict_device_words
    for y in (xp.sum(x), xp.max(x), xp.mean(x), xp.any(x > 1), xp.argmax(x), x[0, 0], xp.sum(x, axis=(0, 1))):
        assert isinstance(y, DeviceArray)
        assert y.shape == ()


def test_0d_arrays_become_python_numbers_on_request(x):
    assert float(x[1, 2]) == 5.0
    assert int(strict_device_words.argmax(x)) == 5
    assert bool(strict_device_words.any(x > 4.0))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x > 1)


def test_integer_arrays_wrap_around():
    table = asarray(np.arange(12.0).reshape(3, 4))
    ids = asarray(np.array([-1, 3, 4, 7]))
    np.testing.assert_array_equal(asnumpy(table[ids])[:, 0], [8, 0, 4, 4])
    np.testing.assert_array_equal(asnumpy(table[..., ids])[0], [3, 3, 0, 3])
    np.testing.assert_array_equal(asnumpy(table[None, :, ids])[0, 0], [3, 3, 0, 3])
    np.testing.assert_array_equal(asnumpy(table[1:, ids])[0], [7, 7, 4, 7])
    np.testing.assert_array_equal(asnumpy(table[ids, ids]), [11, 3, 4, 7])


def test_scatter_add_wraps_around():
    y = scatter_add(asarray(np.array([0, 2, 3])), asarray(np.array([[1.0], [2.0], [4.0]])), 3)
    np.testing.assert_array_equal(asnumpy(y), [[5], [0], [2]])


def test_python_integers_do_not_wrap_around(x):
    with pytest.raises(IndexError):
        x[2]


def test_boolean_masks_select(x):
    np.testing.assert_array_equal(asnumpy(x[x > 2.0]), [3, 4, 5])
    np.testing.assert_array_equal(asnumpy(x[asarray(np.array([False, True]))]), HOST[1:])
    with pytest.raises(IndexError):
        x[asarray(np.array([True]))]
    with pytest.raises(IndexError, match="at most one boolean array"):
        x[asarray(np.array([True, False])), asarray(np.array([True, False, True]))]


@pytest.mark.parametrize("index", [np.array([0]), [0, 1], HOST > 2, (0, [1]), True, 1.0, "0"], ids=repr)
def test_indices_that_are_not_on_the_device_are_refused(x, index):
    with pytest.raises(TypeError, match="Unsupported type"):
        x[index]


def test_floating_indices_are_refused(x):
    with pytest.raises(IndexError, match="integer or boolean, got float32"):
        x[x]


def test_items_are_not_assigned(x):
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 1.0


@pytest.mark.parametrize(
    "text",
    ["xp.sum(a=x)", "xp.exp(x=x)", "xp.reshape(x, shape=(3, 2))", "xp.reshape(x, newshape=(3, 2))",
     "xp.where(condition=x > 0, x=x, y=x)", "xp.sum(x, out=x)", "xp.sum(x, initial=0.0)", "xp.max(x, where=x > 0)",
     "xp.concatenate(arrays=[x])", "xp.argsort(x, stable=True)", "xp.argmax(x, keepdims=True)", "xp.pad(x, 1)",
     "xp.split(x, indices=2)", "xp.matmul(x1=x, x2=x)", "xp.squeeze(x)", "xp.cumsum(x, 0, None)"],
)  # fmt: skip
def test_keyword_forms_outside_the_vocabulary_are_refused(x, text):
    with pytest.raises(TypeError):
        eval(text, {"xp": strict_device_words, "x": x})


@pytest.mark.parametrize("word", ["array", "take_along_axis", "maximum", "concat", "permute_dims", "transpose"])
def test_other_words_do_not_exist(word):
    assert not hasattr(strict_device_words, word)


@pytest.mark.parametrize("method", ["sum", "T", "mT", "reshape", "mean", "copy", "get", "item", "transpose"])
def test_arrays_have_no_other_methods(x, method):
    assert not hasattr(x, method)


def test_padding_modes_and_vectors_outside_the_vocabulary_are_refused(x):
    with pytest.raises(ValueError, match="constant"):
        strict_device_words.pad(x, 1, mode="edge")
    with pytest.raises(ValueError, match="at least 2 axes"):
        strict_device_words.matmul(x[0], x[0])


def test_two_devices_do_not_mix(x):
    with current_device(1):
        far = asarray(HOST)
        assert (far + far).device == 1
        assert strict_device_words.zeros((2, 3), dtype=np.float32).device == 1
        with pytest.raises(ValueError, match="array device = 0 while current = 1"):
            far + x
    message = "Array device must be same as the current device: array device = 1 while current = 0"
    for mix in (
        lambda: x + far, lambda: far * 2.0, lambda: strict_device_words.concatenate([x, far], axis=0),
        lambda: x[far > 1.0], lambda: strict_device_words.matmul(x, strict_device_words.swapaxes(far, 0, 1)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mix()


def test_host_and_device_do_not_mix(x):
    with pytest.raises(TypeError, match="expected all arrays from one library"):
        array_namespace(x, {"weight": HOST})


def test_dtypes_that_cupy_lacks_are_refused(x):
    with pytest.raises(ValueError, match=r"Unsupported dtype (float128|longdouble)"):
        asarray(np.ones(2, np.longdouble))
    with pytest.raises(ValueError, match="Unsupported dtype"):
        x.astype(np.longdouble)
    with pytest.raises(ValueError, match="Unsupported dtype"):
        asarray(np.array(["a"]))


def test_16_bit_floats_accumulate_in_float32():
    ones = asarray(narrow(np.ones(5000), "float16"))
    assert float(strict_device_words.sum(ones)) == 5000
    assert ones.dtype == np.float16
    assert (ones * 2.0).dtype == np.float16
    assert ones.astype(np.float32).dtype == np.float32


def test_the_device_holds_a_copy(x):
    host = HOST.copy()
    y = asarray(host)
    host[0, 0] = 99
    asnumpy(y)[0, 1] = 99
    np.testing.assert_array_equal(asnumpy(y), HOST)


def test_it_shows_its_device(x):
    assert repr(strict_device.asarray(np.zeros(1))) == "DeviceArray(array([0.]), device=0)"
    assert len(x) == 2
