"""Which array library do these arrays belong to?  The first line of every component asks here."""

import sys

import numpy as np


def array_namespace(*arrays):
    """Find the one library whose functions apply to all the arrays.

    The lookup knows NumPy, CuPy and autograd by the root package of an array's type, and asks everything
    else for the standard ``__array_namespace__()``.  Nothing is imported: a library whose arrays flow in is
    loaded already.

    Parameters
    ----------
    *arrays : array, dict, tuple, list or None
        Every array a component reads.  Dicts (parameters) and sequences are looked into, None is passed over.

    Returns
    -------
    module
        The namespace that holds the words of `refimpl.arrays.vocabulary`.

    Raises
    ------
    TypeError
        For something that is no array, for arrays of different libraries (host and device), or for raw
        bfloat16 arrays, which become float32 as soon as they meet a Python number.

    Notes
    -----
    NumPy arrays and autograd boxes may be mixed: autograd computes on NumPy arrays and leaves constants bare.
    """
    found = {}
    for array in _leaves(arrays):
        xp = _namespace_of(array)
        found.setdefault(id(xp), (xp, type(array)))
    if not found:
        raise TypeError("expected at least one array, got none")
    if len(found) > 1:
        return _resolve_mixture(list(found.values()))
    return next(iter(found.values()))[0]


def _leaves(arrays):
    for item in arrays:
        if isinstance(item, dict):
            yield from _leaves(item.values())
        elif isinstance(item, tuple | list):
            yield from _leaves(item)
        elif item is not None:
            yield item


def _namespace_of(array):
    root = type(array).__module__.partition(".")[0]
    if root == "numpy":
        return _numpy_for(array)
    if root == "autograd":
        # A box answers __array_namespace__() with a module whose linalg, fft and random are raw NumPy.
        return sys.modules["autograd.numpy"]
    if root == "cupy":
        return sys.modules["cupy"]  # CuPy arrays have no __array_namespace__
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    raise TypeError(f"expected an array, got {type(array).__module__}.{type(array).__name__}")


def _numpy_for(array):
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        raise TypeError(f"expected an array, got {type(array).__name__}")
    if isinstance(array, np.matrix | np.ma.MaskedArray):  # one multiplies matrices by *, the other skips entries
        raise TypeError(f"expected a plain array, got numpy.{type(array).__name__}: its operators mean something else")
    if dtype.kind in "OSUMm":
        raise TypeError(f"expected an array of numbers, got dtype {dtype}")
    if dtype.kind == "V":
        raise TypeError(
            f"raw {dtype} arrays turn into float32 when they meet a Python number: "
            f'wrap them with refimpl.arrays.narrow(x, "{dtype}")'
        )
    return np


def _resolve_mixture(found):
    namespaces = [xp for xp, _ in found]
    autograd_numpy = sys.modules.get("autograd.numpy")
    if all(xp is np or xp is autograd_numpy for xp in namespaces):
        return autograd_numpy
    kinds = " and ".join(sorted(f"{kind.__module__}.{kind.__name__}" for _, kind in found))
    raise TypeError(f"expected all arrays from one library, got {kinds}: move them to one device first")
