"""NumPy or CuPy: where new arrays are made.  Components never ask; they follow the arrays that flow in."""

import importlib
import os

import numpy as np

from refimpl.arrays.namespace import array_namespace
from refimpl.arrays.narrow import DTYPES, narrow

BACKENDS = ("numpy", "cupy")


def default_backend():
    """Name the backend that the environment chooses.

    Returns
    -------
    str
        The value of ``REFIMPL_BACKEND``, or ``"numpy"``.
    """
    return os.environ.get("REFIMPL_BACKEND") or "numpy"


def backend(name=None):
    """Look up an array library by name.

    Parameters
    ----------
    name : {"numpy", "cupy"}, optional
        By default what `default_backend` says.

    Returns
    -------
    module
        The library.

    Raises
    ------
    ValueError
        For a name that is not a backend.
    RuntimeError
        If CuPy is asked for and cannot be used here; the message is one sentence that says why.
    """
    name = name or default_backend()
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {name!r}")
    if name == "numpy":
        return np
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        raise RuntimeError("the cupy backend needs CuPy: pip install 'refimpl[gpu]'") from None
    if not cupy.is_available():
        raise RuntimeError("the cupy backend needs a CUDA GPU with its driver, and CuPy finds none here")
    return cupy


def asarray(x, *, dtype=None, like=None, backend_name=None):
    """Make an array where others live.

    Parameters
    ----------
    x : array_like, shape (...)
        Host data.
    dtype : dtype, optional
        By default that of `like` when it is floating and `x` is too, else that of `x`.
    like : array, optional
        An array whose library (and device) is used.
    backend_name : {"numpy", "cupy"}, optional
        The library, where there is no `like`; by default what `default_backend` says.

    Returns
    -------
    array, shape (...)
        An array of that library; 16-bit floats on NumPy are `Narrow`.
    """
    xp = backend(backend_name) if like is None else array_namespace(like)
    host = np.asarray(x)
    if dtype is None:
        both_floating = like is not None and host.dtype.kind == "f" and like.dtype.kind not in "biu"
        dtype = like.dtype if both_floating else host.dtype
    if xp is np and np.dtype(dtype) in DTYPES.values():
        return narrow(host, dtype)
    return xp.asarray(host, dtype=dtype)
