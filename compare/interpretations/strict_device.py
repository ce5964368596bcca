"""Strict device arrays: CuPy 14's rules, enforced on a CPU.

What would fail, or silently differ, on a GPU fails here: arrays of the host in an operator or a word, the way
back to the host without being asked for, results of a reduction taken for scalars, ids out of range.  Where
CuPy is lenient with code that the contract forbids (NumPy functions that dispatch, indices that live on the
host, item assignment), this double is not.

Device numbers are make-believe.  As with CuPy every operation wants its arrays on the current device, so
arrays of two devices never meet.
"""

import operator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from refimpl.arrays.narrow import DTYPES, Narrow, narrow

_current = ContextVar("device", default=0)
_SUPPORTED = {np.dtype(char) for char in "?bhilqBHILQfdFD"} | set(DTYPES.values())


class DeviceArray:
    """An array that behaves as if it lived on a GPU.

    Make one with `asarray`, look at it with `asnumpy`.

    Parameters
    ----------
    content : numpy.ndarray, shape (...)
        What the device holds; 16-bit floats as `Narrow`, because CuPy accumulates them in float32 too.
    device : int
        The number of the device.
    """

    # NumPy scalars and arrays on the left hand the operation over to us, and NumPy ufuncs refuse us.
    __array_ufunc__ = None
    __hash__ = None

    def __init__(self, content, device):
        self._content = content
        self.device = device

    shape = property(lambda self: self._content.shape)
    ndim = property(lambda self: self._content.ndim)
    size = property(lambda self: self._content.size)
    dtype = property(lambda self: self._content.dtype)

    def __array_namespace__(self, api_version=None):
        from compare.interpretations import strict_device_words

        return strict_device_words

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed: use strict_device.asnumpy(x)")

    def __repr__(self):
        return f"DeviceArray({self._content!r}, device={self.device})"

    def __len__(self):
        return len(self._content)

    def __bool__(self):
        return bool(self._content)

    def __int__(self):
        return int(self._content)

    def __float__(self):
        return float(self._content)

    def tolist(self):
        """Bring the numbers to the host, asked for in so many words.

        Returns
        -------
        list or number
            As Python holds them.
        """
        return self._content.tolist()

    def __getitem__(self, index):
        from compare.interpretations.strict_device_index import wrapped_index

        content = on_current_device(self)
        return result(content[wrapped_index(index, self.shape)])

    def astype(self, dtype):
        """Convert to another dtype; always a copy.

        Parameters
        ----------
        dtype : dtype
            One that CuPy has.

        Returns
        -------
        DeviceArray
            The converted array.
        """
        return result(_cast(on_current_device(self), dtype))


def _unary(operation):
    return lambda self: result(operation(on_current_device(self)))


def _binary(operation):
    return lambda self, other: result(operation(on_current_device(self), operand(other)))


def _reflected(operation):
    return lambda self, other: result(operation(operand(other), on_current_device(self)))


for _name in ("add", "sub", "mul", "truediv"):
    setattr(DeviceArray, f"__{_name}__", _binary(getattr(operator, _name)))
    setattr(DeviceArray, f"__r{_name}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "and_", "or_"):
    setattr(DeviceArray, f"__{_name.rstrip('_')}__", _binary(getattr(operator, _name)))
for _name in ("neg", "invert"):
    setattr(DeviceArray, f"__{_name}__", _unary(getattr(operator, _name)))


def asarray(x, *, dtype=None):
    """Copy host data to the current device.

    Parameters
    ----------
    x : array_like, shape (...)
        Host data.
    dtype : dtype, optional
        By default that of `x`.

    Returns
    -------
    DeviceArray, shape (...)
        The copy.

    Raises
    ------
    ValueError
        For a dtype that CuPy does not have, such as longdouble.
    """
    host = np.asanyarray(x)
    return result(_cast(host, host.dtype if dtype is None else dtype))


def asnumpy(x):
    """Copy device data to the host.

    Parameters
    ----------
    x : DeviceArray, shape (...)
        Data on any device.

    Returns
    -------
    numpy.ndarray, shape (...)
        The copy; 16-bit floats are `Narrow`.
    """
    return x._content.copy()


@contextmanager
def current_device(device):
    """Make another device the current one, as ``with cupy.cuda.Device(1):`` does.

    Parameters
    ----------
    device : int
        Its number.
    """
    token = _current.set(device)
    try:
        yield
    finally:
        _current.reset(token)


def on_current_device(x):
    """Take the content of a device array.

    Parameters
    ----------
    x : DeviceArray
        An array.

    Returns
    -------
    numpy.ndarray
        What it holds.

    Raises
    ------
    TypeError
        For anything but a device array.
    ValueError
        If the array is on another device than the current one.
    """
    if not isinstance(x, DeviceArray):
        raise TypeError(f"Unsupported type {type(x)}: expected an array of the device")
    if x.device != _current.get():
        raise ValueError(
            "Array device must be same as the current device: "
            f"array device = {x.device} while current = {_current.get()}"
        )
    return x._content


def operand(x):
    """Take what an elementwise operation accepts: a device array, a Python number, or a NumPy scalar.

    Parameters
    ----------
    x : DeviceArray, bool, int, float, complex or numpy.generic
        Python numbers take the dtype of the array they meet; NumPy scalars keep theirs, as in NumPy 2.

    Returns
    -------
    numpy.ndarray or number
        What NumPy computes with.

    Raises
    ------
    TypeError
        For host arrays, lists and everything else.
    """
    return x if isinstance(x, bool | int | float | complex | np.generic) else on_current_device(x)


def result(content):
    """Wrap what NumPy computed; a scalar becomes a 0-d array, as on a device.

    Parameters
    ----------
    content : numpy.ndarray or numpy.generic, shape (...)
        What the device holds from now on.

    Returns
    -------
    DeviceArray, shape (...)
        On the current device.
    """
    return DeviceArray(np.asanyarray(content), _current.get())


def _cast(content, dtype):
    dtype = np.dtype(dtype)
    if dtype not in _SUPPORTED:
        raise ValueError(f"Unsupported dtype {dtype}")
    if dtype in DTYPES.values():
        return narrow(content, dtype)
    return content.astype(dtype) if isinstance(content, Narrow) else np.array(content, dtype)
