"""Which steps of a component need float32 although its arrays hold 16 bits, and the way there and back."""

import numpy as np

from refimpl.arrays.namespace import array_namespace
from refimpl.arrays.narrow import DTYPES, narrow


def widen(x):
    """Bring 16-bit floats to float32, where a step would overflow or lose what matters.

    Parameters
    ----------
    x : array, shape (...)
        Floating or complex.

    Returns
    -------
    array, shape (...)
        In float32 if `x` is narrower, else `x` itself.
    """
    xp = array_namespace(x)
    return x.astype(xp.float32) if x.dtype.itemsize < 4 else x


def cast(x, dtype):
    """Bring an array to a dtype: the way back from `widen`.

    Parameters
    ----------
    x : array, shape (...)
        Floating or complex.
    dtype : dtype
        Where it shall go; 16-bit floats on NumPy become `Narrow`.

    Returns
    -------
    array, shape (...)
        In that dtype; `x` itself if it has it already.
    """
    xp = array_namespace(x)
    if x.dtype == dtype:
        return x
    if xp is np and dtype in DTYPES.values():
        return narrow(x, dtype)
    return x.astype(dtype)


def table_dtype(x):
    """Choose the dtype for what depends on positions alone: an angle in bfloat16 would take 257 for 256.

    Parameters
    ----------
    x : array, shape (...)
        What the table will be applied to.

    Returns
    -------
    dtype
        float64 for float64 and wider, else float32.
    """
    xp = array_namespace(x)
    return xp.float64 if x.dtype.itemsize >= 8 else xp.float32
