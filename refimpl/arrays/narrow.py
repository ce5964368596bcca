"""16-bit floats as an accelerator treats them: computed in float32, stored in 16 bits.

NumPy sums a float16 column in float16 (5,000 ones give 2,048) and turns ``bfloat16 * 2.0`` into float32.
A `Narrow` array does neither, and still is a NumPy array, so the text of a component does not change.
"""

import ml_dtypes
import numpy as np

DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


class Narrow(np.ndarray):
    """A NumPy array of 16-bit floats whose every function computes in float32 and stores in 16 bits.

    Make one with `narrow`.  Results that are not floats (comparisons, indices) are plain arrays.
    """

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if "out" in kwargs:
            raise TypeError("Narrow arrays are never written into")
        storage = _storage(inputs)
        result = getattr(ufunc, method)(*_map(_widen, inputs), **_map(_widen, kwargs))
        return _map(lambda value: _store(value, storage), result)

    def __array_function__(self, func, types, args, kwargs):
        storage = _storage((args, kwargs))
        if "dtype" in kwargs and kwargs["dtype"] in DTYPES.values():
            kwargs = {**kwargs, "dtype": np.float32}
        result = func(*_map(_widen, args), **_map(_widen, kwargs))
        return _map(lambda value: _store(value, storage), result)

    def __getitem__(self, index):
        # A single element would be a scalar of ml_dtypes, which turns into float32 when it meets a number.
        return np.asarray(super().__getitem__(index)).view(Narrow)

    def astype(self, dtype, **kwargs):
        """Convert; to a 16-bit dtype gives a `Narrow` array, to any other a plain one.

        Parameters
        ----------
        dtype : dtype
            The dtype to convert to.
        **kwargs
            As for `numpy.ndarray.astype`.

        Returns
        -------
        Narrow or numpy.ndarray
            The converted array.
        """
        converted = self.view(np.ndarray).astype(dtype, **kwargs)
        return converted.view(Narrow) if converted.dtype in DTYPES.values() else converted


def narrow(x, dtype):
    """Round to 16 bits and wrap.

    Parameters
    ----------
    x : array_like, shape (...)
        Real numbers.
    dtype : {"float16", "bfloat16"} or dtype
        The storage format.

    Returns
    -------
    Narrow, shape (...)
        The rounded values.

    Raises
    ------
    ValueError
        If the dtype is not a 16-bit float.
    """
    dtype = np.dtype(DTYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    if dtype not in DTYPES.values():
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype}")
    with np.errstate(over="ignore"):  # beyond the largest 16-bit number lies inf, as on a device
        return np.asarray(x).astype(dtype).view(Narrow)


def _storage(tree):
    found = []
    _map(lambda leaf: found.append(leaf.dtype) if isinstance(leaf, Narrow) else None, tree)
    if len(set(found)) > 1:
        raise TypeError(f"expected one 16-bit dtype, got {' and '.join(sorted({d.name for d in found}))}")
    return found[0]


def _widen(leaf):
    if isinstance(leaf, Narrow):
        # Boolean and integer Narrow views do not exist: only floats are wrapped.
        return leaf.view(np.ndarray).astype(np.float32)
    return leaf


def _store(value, storage):
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f":
        return narrow(value, storage)
    return value


def _map(f, tree):
    if isinstance(tree, tuple | list):
        return type(tree)(_map(f, item) for item in tree)
    if isinstance(tree, dict):
        return {key: _map(f, item) for key, item in tree.items()}
    return f(tree)
