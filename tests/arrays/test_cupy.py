"""CuPy has every word of the vocabulary, with a signature that we can call; no GPU is needed to see that."""

import inspect

import numpy as np
import pytest

from refimpl.arrays import VOCABULARY

cupy = pytest.importorskip(
    "cupy",
    exc_type=ImportError,
    reason="CuPy is not installed: python -m pip install cupy-cuda12x==14.2.0 (it imports without a GPU)",
)

ELEMENTWISE = {"exp", "log", "sqrt", "tanh", "sin", "cos", "floor", "isfinite"}
DTYPES = {"float32", "float64", "int64", "bool_"}
# The other words as components call them: positional arguments, then keywords.
CALLS = {
    "where": (3, ()),
    "sum": (1, ("axis", "keepdims")),
    "mean": (1, ("axis", "keepdims")),
    "max": (1, ("axis", "keepdims")),
    "min": (1, ("axis", "keepdims")),
    "any": (1, ("axis", "keepdims")),
    "all": (1, ("axis", "keepdims")),
    "argmax": (1, ("axis",)),
    "cumsum": (1, ("axis",)),
    "argsort": (1, ("axis",)),
    "matmul": (2, ()),
    "einsum": (4, ()),
    "reshape": (2, ()),
    "swapaxes": (3, ()),
    "moveaxis": (3, ()),
    "expand_dims": (1, ("axis",)),
    "squeeze": (1, ("axis",)),
    "concatenate": (1, ("axis",)),
    "stack": (1, ("axis",)),
    "split": (2, ("axis",)),
    "pad": (2, ("mode", "constant_values")),
    "tril": (1, ("k",)),
    "triu": (1, ("k",)),
    "zeros": (1, ("dtype",)),
    "ones": (1, ("dtype",)),
    "full": (2, ("dtype",)),
    "arange": (3, ()),
    "asarray": (1, ("dtype",)),
    "zeros_like": (1, ()),
    "ones_like": (1, ()),
}


def assert_callable(function, n_positional, keywords):
    inspect.signature(function).bind(*[None] * n_positional, **dict.fromkeys(keywords))


def assert_elementwise(ufunc, n_in):
    # inspect.signature refuses CuPy's ufuncs (a type of its own in compiled code); they tell their arity and
    # their loops instead, and every ufunc is called as f(x) or f(x, y).
    assert type(ufunc).__name__ == "ufunc"
    assert (ufunc.nin, ufunc.nout) == (n_in, 1)
    inputs = {loop.partition("->")[0] for loop in ufunc.types}
    assert {"f" * n_in, "d" * n_in} <= inputs


def test_every_word_is_covered_here():
    assert set(VOCABULARY) == ELEMENTWISE | DTYPES | CALLS.keys()


@pytest.mark.parametrize("word", CALLS)
def test_the_word_can_be_called(word):
    assert_callable(getattr(cupy, word), *CALLS[word])


@pytest.mark.parametrize("word", sorted(ELEMENTWISE))
def test_the_elementwise_word_takes_one_array(word):
    assert_elementwise(getattr(cupy, word), 1)


@pytest.mark.parametrize("word", sorted(DTYPES))
def test_the_dtype_is_that_of_numpy(word):
    assert getattr(cupy, word) is getattr(np, word)


def test_erf_is_where_we_look_for_it():
    special = pytest.importorskip("cupyx.scipy.special")
    assert_elementwise(special.erf, 1)


def test_add_at_exists():
    # A method of compiled code has no signature, but its documentation starts with it.
    assert cupy.add.at.__doc__.startswith("ufunc.at(self, a, indices, b=None)")


@pytest.mark.parametrize("name", ["__add__", "__radd__", "__mul__", "__rmul__", "__sub__", "__rsub__", "__truediv__",
                                  "__rtruediv__", "__neg__", "__gt__", "__ge__", "__lt__", "__le__", "__eq__",
                                  "__ne__", "__and__", "__or__", "__invert__", "__getitem__", "__int__", "__bool__",
                                  "astype", "shape", "ndim", "dtype"])  # fmt: skip
def test_arrays_have_the_operators_and_attributes(name):
    assert hasattr(cupy.ndarray, name)


def test_the_namespace_of_cupy_arrays_is_their_root_package():
    # Arrays cannot be made without a GPU, but their type tells.
    assert cupy.ndarray.__module__.partition(".")[0] == "cupy"
    assert not hasattr(cupy.ndarray, "__array_namespace__")


@pytest.mark.parametrize(
    ("word", "call"),
    [("reshape", (1, ("shape",))), ("argsort", (1, ("stable",))), ("where", (4, ())), ("sum", (1, ("initial",)))],
)
def test_a_call_that_cupy_refuses_is_noticed(word, call):
    with pytest.raises(TypeError):
        assert_callable(getattr(cupy, word), *call)


def test_a_ufunc_of_another_arity_is_noticed():
    with pytest.raises(AssertionError):
        assert_elementwise(cupy.add, 1)


@pytest.mark.parametrize("word", ["vecdot", "unstack", "longdouble"])
def test_words_that_we_avoid_are_still_missing(word):
    # Once CuPy has them, the list of traps can be shortened.
    assert not hasattr(cupy, word)
