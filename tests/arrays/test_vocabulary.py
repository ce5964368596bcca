"""Every word of the vocabulary means the same on every kind of array."""

import types
import warnings
from dataclasses import replace

import autograd.numpy
import ml_dtypes
import numpy as np
import pytest
from autograd import make_vjp
from autograd.builtins import SequenceBox

from compare.interpretations import cost, cost_words, spread_words, strict_device, strict_device_words
from compare.interpretations.spread import Spread, spread
from refimpl.arrays import VOCABULARY, array_namespace, narrow
from refimpl.arrays.narrow import DTYPES, Narrow
from tests.arrays.samples import SAMPLES

U64 = 2.0**-53
# dtype: (unit roundoff of storing, of computing); the float64 run that it is compared with rounds too.
UNITS = {
    "float64": (U64, U64),
    "float32": (2.0**-24, 2.0**-24),
    "float16": (2.0**-11, 2.0**-24),
    "bfloat16": (2.0**-8, 2.0**-24),
    "longdouble": (U64, U64),
    "complex128": (U64, U64),
}
NOT_COMPLEX = {
    "floor": "complex numbers have no floor",
    "a.astype(xp.float64)": "would drop the imaginary part",
}
INTERPRETATIONS = {
    "numpy": np,
    "autograd": autograd.numpy,
    "spread": spread_words,
    "strict device": strict_device_words,
    "cost": cost_words,
}
CONVERSIONS = {
    "spread": lambda x: spread(x, np.float32),
    "strict device": strict_device.asarray,
    "cost": cost.lift,
}


def _convert(x, dtype):
    """Give real arguments a dtype; masks and ids keep theirs."""
    if x.dtype.kind != "f":
        return x
    return narrow(x, dtype) if dtype in DTYPES else x.astype(dtype)


def _arguments(sample, dtype):
    return {name: _convert(x, dtype) for name, x in sample.arguments().items()}


def _parts(result):
    return [result[i] for i in range(len(result))] if isinstance(result, list | SequenceBox) else [result]


def _expected_dtype(sample, reference, dtype):
    """A result that is real has the dtype of the real arguments, unless the text names another."""
    names_dtype = "xp.float" in sample.text or not {"a", "p"} & sample.shapes.keys()
    if reference.dtype != np.float64 or names_dtype:
        return reference.dtype
    return DTYPES[dtype] if dtype in DTYPES else np.dtype(dtype)


def _bounds(sample, references, dtype):
    """Bound the error of each result, from the unit roundoff of the dtype."""
    stored, computed = UNITS[dtype]
    largest = max([x.size for x in sample.arguments().values()], default=0)
    if sample.rounds == "not":
        return [0.0 for _ in references]
    if sample.word == "erf" and dtype == "complex128":
        return [2.0**-43 * abs(y) for y in references]  # SciPy's complex erf promises 1e-13
    if sample.rounds == "once":
        # NumPy's single-precision functions are within 4 units in the last place, which is at most 8 u.
        return [(stored + 8 * computed) * abs(y) for y in references]
    if sample.rounds == "log-sum":
        x = sample.arguments()["a"]
        # Every step is stored; the exponent's error is that of a number as large as x.
        return [(8 + largest) * stored * (1 + abs(y) + np.max(abs(x), initial=0)) for y in references]
    # A sum of n terms in any order: n u times the sum of the absolute values (Higham 2002, eq. 3.5).
    absolute = {name: abs(x) if x.dtype.kind == "f" else x for name, x in sample.arguments().items()}
    sums = _parts(sample.run(np, absolute))
    return [stored * abs(y) + (1 + largest) * computed * s for y, s in zip(references, sums, strict=True)]


def _assert_same(results, references, bounds, dtypes):
    for result, reference, bound, dtype in zip(results, references, bounds, dtypes, strict=True):
        assert result.shape == reference.shape
        assert result.dtype == dtype
        value = np.asarray(result)
        value = value.astype(np.float64) if value.dtype not in (np.complex128, np.longdouble) else value
        finite = np.isfinite(reference.astype(np.float64))
        np.testing.assert_array_equal(value[~finite], reference[~finite])
        error = np.abs(value[finite] - reference[finite])
        assert np.all(error <= np.broadcast_to(bound, reference.shape)[finite]), (value, reference)


def _reference(sample):
    return [np.asarray(part) for part in _parts(sample.run(np, sample.arguments()))]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("dtype", UNITS)
def test_every_word_on_numpy(sample, dtype):
    if dtype == "complex128" and (sample.word in NOT_COMPLEX or sample.text in NOT_COMPLEX):
        return
    references = _reference(sample)
    arguments = _arguments(sample, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = _parts(sample.run(np, arguments))
    dtypes = [_expected_dtype(sample, y, dtype) for y in references]
    _assert_same(results, references, _bounds(sample, references, dtype), dtypes)
    for result, reference in zip(results, references, strict=True):
        if dtype in DTYPES and result.dtype == DTYPES[dtype] and reference.dtype == np.float64:
            assert isinstance(result, Narrow), "a raw 16-bit array turns into float32"


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_word_on_spread_arrays(sample):
    references = _reference(sample)
    arguments = {name: CONVERSIONS["spread"](x) for name, x in sample.arguments().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = _parts(sample.run(spread_words, arguments))
    for result in results:
        assert isinstance(result, Spread)
        assert result.variance is None or np.shape(result.variance) == result.shape
        assert np.all(result.sigma >= 0)
    dtypes = [_expected_dtype(sample, y, "float32") for y in references]
    assert [x.dtype for x in results] == dtypes
    # The truth is float64 arithmetic, whatever the dtype that is judged.
    exact = replace(sample, rounds="not") if sample.rounds == "once" else sample
    values = [x.value for x in results]
    assert [x.dtype for x in values] == [y.dtype if y.dtype.kind in "iub" else np.float64 for y in references]
    _assert_same(values, references, _bounds(exact, references, "float64"), [x.dtype for x in values])


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex128"])
def test_every_word_on_a_strict_device(sample, dtype):
    if dtype == "complex128" and (sample.word in NOT_COMPLEX or sample.text in NOT_COMPLEX):
        return
    arguments = {name: strict_device.asarray(x) for name, x in _arguments(sample, dtype).items()}
    results = _parts(sample.run(strict_device_words, arguments))
    references = _parts(sample.run(np, _arguments(sample, dtype)))
    for result, reference in zip(results, references, strict=True):
        assert isinstance(result, strict_device.DeviceArray)
        assert result.dtype == reference.dtype
        np.testing.assert_array_equal(strict_device.asnumpy(result), reference)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_every_word_on_shape_only_arrays(sample, dtype):
    arguments = {name: cost.lift(x) for name, x in _arguments(sample, dtype).items()}
    if sample.word == "mask indexing":
        with pytest.raises(TypeError, match="depends on values"):
            sample.run(cost_words, arguments)
        return
    results = _parts(sample.run(cost_words, arguments))
    references = [np.asanyarray(part) for part in _parts(sample.run(np, _arguments(sample, dtype)))]
    assert [(x.shape, x.dtype) for x in results] == [(y.shape, y.dtype) for y in references]
    assert all(isinstance(x, cost.Shaped) for x in results)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_word_on_autograd_boxes(sample):
    arguments = sample.arguments()
    names = [name for name in sample.shapes if name in "abcp"]
    references = _reference(sample)
    bounds = _bounds(sample, references, "float64")
    bounds = [bound + np.zeros_like(y) for bound, y in zip(bounds, references, strict=True)]

    def flat(*values):
        results = _parts(sample.run(autograd.numpy, {**arguments, **dict(zip(names, values, strict=True))}))
        return autograd.numpy.concatenate([autograd.numpy.reshape(x, (-1,)) for x in results], axis=0)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not sample.differentiable or not names:
            np.testing.assert_array_equal(flat(*(arguments[name] for name in names)), _flat(references))
            return
        for k, name in enumerate(names):
            vjp, value = make_vjp(flat, k)(*(arguments[name] for name in names))
            _assert_same([value], [_flat(references)], [_flat(bounds)], [np.float64])
            weights = np.random.default_rng(1).normal(size=value.shape)
            jacobian = _complex_step(sample, arguments, name)
            error = abs(vjp(weights).ravel() - weights @ jacobian)
            # n_out products are summed; an entry of the Jacobian is right to 16 u (products and functions),
            # and for logsumexp, whose entries are exp(x - y), to |x - y| u more, at most 16 u here.
            n_rounding = value.size + (32 if sample.rounds == "log-sum" else 16)
            assert np.all(error <= n_rounding * U64 * (abs(weights) @ abs(jacobian)))


def _flat(parts):
    return np.concatenate([np.reshape(part, -1) for part in parts])


def _complex_step(sample, arguments, name, step=1e-30):
    """The Jacobian (n_out, n_in) by a step into the imaginary, which loses no digits."""
    x = arguments[name]
    columns = []
    for i in range(x.size):
        direction = np.zeros(x.size)
        direction[i] = step
        moved = {key: _convert(value, complex) for key, value in arguments.items()}
        moved[name] = x + 1j * direction.reshape(x.shape)
        columns.append(_flat(_parts(sample.run(np, moved))).imag / step)
    return np.stack(columns, axis=1) if columns else np.zeros((len(_flat(_reference(sample))), 0))


def test_every_word_has_a_sample():
    assert set(VOCABULARY) - {sample.word for sample in SAMPLES} == set()


@pytest.mark.parametrize("name", INTERPRETATIONS)
def test_every_interpretation_has_every_word(name):
    assert [word for word in VOCABULARY if not hasattr(INTERPRETATIONS[name], word)] == []


@pytest.mark.parametrize("name", CONVERSIONS)
def test_no_interpretation_has_other_words(name):
    module = INTERPRETATIONS[name]
    words = {
        word for word, value in vars(module).items()
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__ and word[0] != "_"
    }  # fmt: skip
    assert words - set(VOCABULARY) == {"erf", "scatter_add"}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_namespace_of_each_kind_of_array_is_its_words(name):
    assert array_namespace(CONVERSIONS[name](np.ones(3))) is INTERPRETATIONS[name]


@pytest.mark.parametrize(
    "wrong",
    [lambda y: y * (1 + 2.0**-49), lambda y: y[::-1], lambda y: y.astype(np.float32), lambda y: y[None],
     lambda y: np.where(np.isinf(y), 3.0, y), lambda y: np.where(y == 2.0, np.nan, y)],
)  # fmt: skip
def test_the_comparison_refuses_what_is_wrong(wrong):
    reference = np.array([1.0, 2.0, -3.0, -np.inf])
    bound = 8 * U64 * abs(reference)
    _assert_same([reference * (1 + 2 * U64)], [reference], [bound], [np.float64])
    with pytest.raises(AssertionError):
        _assert_same([wrong(reference)], [reference], [bound], [np.float64])


def test_complex_step_refuses_a_wrong_derivative():
    sample = next(sample for sample in SAMPLES if sample.text == "xp.tanh(a)" and sample.shapes["a"] == (5,))
    arguments = sample.arguments()
    jacobian = _complex_step(sample, arguments, "a")
    right = 1 - np.tanh(arguments["a"]) ** 2
    assert np.all(abs(np.diag(jacobian) - right) <= 16 * U64)  # 1 - tanh² cancels: absolute, not relative
    assert not np.all(abs(np.diag(jacobian) - 1.0001 * right) <= 16 * U64)


def test_numpy_knows_bfloat16_under_the_name_we_compare():
    assert DTYPES["bfloat16"] == np.dtype(ml_dtypes.bfloat16)
