"""The namespace of arrays: one library, found without importing it."""

import subprocess
import sys
import types

import autograd.numpy
import ml_dtypes
import numpy as np
import pytest
from autograd import grad

from compare.interpretations import strict_device, strict_device_words
from refimpl.arrays import array_namespace, narrow


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "longdouble", "int64", "bool"])
def test_numpy_arrays_of_numbers(dtype):
    assert array_namespace(np.ones(2, dtype)) is np


def test_numpy_scalars_are_what_reductions_give():
    assert array_namespace(np.sum(np.ones(2))) is np


def test_narrow_arrays_are_numpy_arrays():
    assert array_namespace(narrow(np.ones(2), "bfloat16"), np.arange(3)) is np


def test_none_is_passed_over_and_containers_are_looked_into():
    x = np.ones(2)
    assert array_namespace(None, {"weight": x, "bias": None}, (x, [x, {"deep": x}])) is np


@pytest.mark.parametrize("nothing", [(), (None,), ({},), ((), [None])])
def test_no_array_at_all_is_refused(nothing):
    with pytest.raises(TypeError, match="expected at least one array, got none"):
        array_namespace(*nothing)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [(1.0, "float"), (3, "int"), ("x", "str"), (object(), "object"), (range(3), "range")],
)
def test_what_is_no_array_is_refused(wrong, name):
    with pytest.raises(TypeError, match=f"expected an array, got .*{name}"):
        array_namespace(np.ones(2), wrong)


@pytest.mark.parametrize(
    "wrong",
    [np.array([None]), np.array(["a"]), np.array([b"a"]), np.array(["2026-01-01"], "M8[D]"), np.array([1], "m8[s]")],
    ids=lambda x: str(x.dtype),
)
def test_arrays_of_other_things_than_numbers_are_refused(wrong):
    with pytest.raises(TypeError, match="expected an array of numbers, got dtype"):
        array_namespace(wrong)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_raw_arrays_of_ml_dtypes_are_refused_with_advice(dtype):
    # float16 in NumPy's own dtype is allowed: it stays float16, only its sums are poor.
    with pytest.raises(TypeError, match=r"wrap them with refimpl\.arrays\.narrow\(x"):
        array_namespace(np.ones(2, dtype))


def test_structured_arrays_are_refused():
    with pytest.raises(TypeError):
        array_namespace(np.zeros(2, [("a", float)]))


def test_autograd_boxes_and_their_constants():
    seen = []

    def f(x):
        seen.append(array_namespace(x))
        seen.append(array_namespace(np.ones(2), x))
        seen.append(array_namespace({"weight": x}, None, np.ones(2)))
        return autograd.numpy.sum(x)

    grad(f)(np.ones(2))
    assert all(xp is autograd.numpy for xp in seen)


def test_arrays_that_tell_their_namespace_are_asked():
    assert array_namespace(strict_device.asarray(np.ones(2))) is strict_device_words


def test_libraries_do_not_mix():
    device = strict_device.asarray(np.ones(2))
    with pytest.raises(TypeError) as caught:
        array_namespace(np.ones(2), {"weight": device})
    assert str(caught.value) == (
        "expected all arrays from one library, got compare.interpretations.strict_device.DeviceArray and "
        "numpy.ndarray: move them to one device first"
    )


@pytest.fixture
def fake_cupy(monkeypatch):
    """A module that looks like CuPy: its arrays lie two packages deep and have no __array_namespace__."""
    cupy = types.ModuleType("cupy")
    cupy.ndarray = type("ndarray", (), {"__module__": "cupy._core.core"})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def test_cupy_is_found_by_the_root_package_of_its_arrays(fake_cupy):
    assert array_namespace(fake_cupy.ndarray(), {"weight": fake_cupy.ndarray()}) is fake_cupy


def test_cupy_and_numpy_do_not_mix(fake_cupy):
    with pytest.raises(TypeError, match=r"got cupy\._core\.core\.ndarray and numpy\.ndarray: move them to one device"):
        array_namespace(fake_cupy.ndarray(), np.ones(2))


def test_cupy_and_autograd_do_not_mix(fake_cupy):
    def f(x):
        array_namespace(x, fake_cupy.ndarray())

    with pytest.raises(TypeError, match="expected all arrays from one library"):
        grad(f)(np.ones(2))


def test_the_lookup_imports_no_library():
    code = (
        "import sys, numpy as np\n"
        "from refimpl.arrays import array_namespace\n"
        "array_namespace(np.ones(2), {'weight': np.ones(2)})\n"
        "print(sorted({'autograd', 'cupy', 'jax', 'scipy', 'torch'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("kind", [np.matrix, np.ma.MaskedArray])
def test_subclasses_whose_operators_mean_something_else_are_refused(kind):
    with pytest.raises(TypeError, match=f"expected a plain array, got numpy.{kind.__name__}"):
        array_namespace(np.ones((2, 2)).view(kind))
