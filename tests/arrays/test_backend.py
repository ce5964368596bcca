"""Where new arrays are made, and one sentence where CuPy cannot be used."""

import subprocess
import sys
import types

import numpy as np
import pytest

from refimpl.arrays import Narrow, asarray, backend, default_backend, narrow


def test_numpy_is_the_default(monkeypatch):
    monkeypatch.delenv("REFIMPL_BACKEND", raising=False)
    assert default_backend() == "numpy"
    assert backend() is np
    monkeypatch.setenv("REFIMPL_BACKEND", "")
    assert default_backend() == "numpy"


def test_the_environment_chooses(monkeypatch):
    monkeypatch.setenv("REFIMPL_BACKEND", "cupy")
    assert default_backend() == "cupy"
    assert backend("numpy") is np


def test_unknown_backends_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"^backend must be one of numpy, cupy, got 'torch'$"):
        backend("torch")
    monkeypatch.setenv("REFIMPL_BACKEND", "cuda")
    with pytest.raises(ValueError, match="got 'cuda'"):
        asarray([1.0])


def test_cupy_that_is_not_installed_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # makes the import fail
    with pytest.raises(RuntimeError, match=r"^the cupy backend needs CuPy: pip install 'refimpl\[gpu\]'$") as caught:
        backend("cupy")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def fake_cupy(monkeypatch, available):
    cupy = types.ModuleType("cupy")
    cupy.is_available = lambda: available
    cupy.asarray = lambda host, dtype=None: ("on the device", host.astype(dtype))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def test_cupy_without_a_gpu_is_one_sentence(monkeypatch):
    fake_cupy(monkeypatch, available=False)
    monkeypatch.setenv("REFIMPL_BACKEND", "cupy")
    with pytest.raises(RuntimeError, match=r"^the cupy backend needs a CUDA GPU with its driver, and CuPy finds none"):
        asarray([1.0])


def test_cupy_with_a_gpu_makes_its_arrays(monkeypatch):
    cupy = fake_cupy(monkeypatch, available=True)
    assert backend("cupy") is cupy
    where, content = asarray([1.0], dtype=np.float32, backend_name="cupy")
    assert where == "on the device"
    assert content.dtype == np.float32


def test_the_real_cupy_is_never_a_traceback_of_its_own():
    code = (
        "from refimpl.arrays import backend\n"
        "try:\n    backend('cupy')\n    print('a GPU')\n"
        "except RuntimeError as error:\n"
        "    print(str(error).count('\\n'), str(error).startswith('the cupy backend needs'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() in ("a GPU", "0 True"), done.stderr


def test_like_gives_library_and_dtype():
    y = asarray([0.5, 1.0], like=np.ones(1, np.float32))
    assert type(y) is np.ndarray
    assert y.dtype == np.float32


def test_like_gives_no_dtype_to_integers():
    assert asarray([1, 2], like=np.ones(1, np.float32)).dtype == np.int64
    assert asarray([True], like=np.ones(1, np.float32)).dtype == np.bool_


def test_the_dtype_of_ids_is_not_given_to_floats():
    y = asarray([0.5], like=np.array([1]))
    np.testing.assert_array_equal(y, [0.5])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_narrow(dtype):
    like = narrow(np.ones(1), dtype)
    for y in (asarray([0.5], like=like), asarray([0.5], dtype=like.dtype, backend_name="numpy")):
        assert isinstance(y, Narrow)
        assert y.dtype == like.dtype


def test_an_explicit_dtype_wins():
    assert asarray([0.5], dtype=np.float64, like=np.ones(1, np.float32)).dtype == np.float64
