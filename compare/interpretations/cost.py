"""Shape-only arrays: the text of a component runs on them and tells what it would cost, allocating nothing.

>>> x, params = cost.empty((8, 2048, 12288), "float16"), cost.lift(numpy_params)
>>> with cost.tracking() as tracker:
...     y, pullback = f(x, params)
...     gradients = pullback(cost.empty(y.shape, y.dtype))
>>> tracker.flops, tracker.bytes_moved, tracker.peak_bytes

An array has a shape, a dtype, strides and a buffer, but no values.  Where a component asks for one, an
integer is 0, which as an id lies in every table; a truth value or a float cannot be had.
"""

import math

import numpy as np

from compare.interpretations.cost_tracker import Buffer, Tracker, record, tracking
from refimpl.arrays.narrow import DTYPES, narrow

__all__ = ["Shaped", "Tracker", "count", "empty", "lift", "tracking"]


class Shaped:
    """An array without values; make one with `empty` or `lift`.

    Parameters
    ----------
    layout : numpy.ndarray, shape (...)
        Has the shape, dtype and strides, and one element of memory: its values are never read.
    buffer : Buffer
        The memory that it pretends to lie in.
    """

    __array_ufunc__ = None  # NumPy arrays on the left must not take us apart elementwise
    __hash__ = None

    def __init__(self, layout, buffer):
        self.layout = layout
        self.buffer = buffer

    shape = property(lambda self: self.layout.shape)
    ndim = property(lambda self: self.layout.ndim)
    size = property(lambda self: self.layout.size)
    dtype = property(lambda self: self.layout.dtype)
    nbytes = property(lambda self: self.layout.nbytes)

    def __array_namespace__(self, api_version=None):
        from compare.interpretations import cost_words

        return cost_words

    def __array__(self, dtype=None, copy=None):
        raise TypeError("a shape-only array has no values to convert to NumPy")

    def __repr__(self):
        return f"Shaped(shape={self.shape}, dtype={self.dtype})"

    def __len__(self):
        return len(self.layout)

    def __bool__(self):
        raise TypeError("the truth of a shape-only array is not known: the text branches on values")

    def __float__(self):
        raise TypeError("the value of a shape-only array is not known: the text reads a float")

    def __int__(self):
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError(f"only a 0-d array of integers stands for an integer, got {self!r}")
        return 0  # in range, whatever the table

    def __getitem__(self, index):
        from compare.interpretations.cost_index import getitem

        return getitem(self, index)

    def astype(self, dtype):
        """Convert to another dtype; always a copy.

        Parameters
        ----------
        dtype : dtype
            The new dtype.

        Returns
        -------
        Shaped
            The converted array.
        """
        return made("astype", self.shape, np.dtype(dtype), self)

    def __neg__(self):
        return elementwise("negative", np.negative, self, flops=1)

    def __invert__(self):
        return elementwise("logical", np.invert, self)


def _operator(word, function, flops):
    return lambda self, other: elementwise(word, function, self, other, flops=flops)


def _reflected(word, function, flops):
    return lambda self, other: elementwise(word, function, other, self, flops=flops)


for _name, _word, _function in (
    ("add", "add", np.add),
    ("sub", "subtract", np.subtract),
    ("mul", "multiply", np.multiply),
    ("truediv", "divide", np.divide),
):
    setattr(Shaped, f"__{_name}__", _operator(_word, _function, 1))
    setattr(Shaped, f"__r{_name}__", _reflected(_word, _function, 1))
for _name, _function in (
    ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
    ("eq", np.equal), ("ne", np.not_equal),
):  # fmt: skip
    setattr(Shaped, f"__{_name}__", _operator("compare", _function, 0))
for _name, _function in (("and", np.bitwise_and), ("or", np.bitwise_or)):
    setattr(Shaped, f"__{_name}__", _operator("logical", _function, 0))


def empty(shape, dtype):
    """Make a shape-only array.

    Parameters
    ----------
    shape : tuple of int
        Its shape, of any size.
    dtype : dtype or {"bfloat16"}
        Its dtype.

    Returns
    -------
    Shaped, shape `shape`
        In C order, in a buffer of its own.
    """
    dtype = np.dtype(DTYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    strides = [dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape))]
    layout = np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides)
    return Shaped(layout, Buffer(layout.nbytes))


def lift(tree):
    """Forget the values of NumPy arrays.

    Parameters
    ----------
    tree : numpy.ndarray, dict, tuple, list, or anything else
        Arrays, and containers of arrays; what is neither (None, numbers) stays.

    Returns
    -------
    Shaped, dict, tuple, list, or anything else
        The same with shape-only arrays.
    """
    if isinstance(tree, dict):
        return {key: lift(item) for key, item in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(lift(item) for item in tree)
    return empty(tree.shape, tree.dtype) if isinstance(tree, np.ndarray | np.generic) else tree


def count(tree):
    """Count the elements of arrays, such as the parameters of a model.

    Parameters
    ----------
    tree : Shaped, numpy.ndarray, dict, tuple or list
        Arrays, and containers of arrays.

    Returns
    -------
    int
        The number of elements; what is no array has none.
    """
    if isinstance(tree, dict):
        return sum(count(item) for item in tree.values())
    if isinstance(tree, tuple | list):
        return sum(count(item) for item in tree)
    return tree.size if isinstance(tree, Shaped | np.ndarray | np.generic) else 0


def made(word, shape, dtype, *read, flops=0, transcendentals=0, bytes_gathered=0):
    """Make the result of a word and count what it cost.

    Parameters
    ----------
    word : str
        The word, or the name of an operator.
    shape : tuple of int
        The shape of the result.
    dtype : dtype
        The dtype of the result; flops on anything but floating numbers do not count.
    *read : Shaped or number
        The operands, each read once as a whole.
    flops, transcendentals : int, optional
        What it cost.
    bytes_gathered : int, optional
        Bytes read from an array that is not read as a whole.

    Returns
    -------
    Shaped, shape `shape`
        The result.
    """
    result = empty(shape, dtype)
    bytes_read = bytes_gathered + sum(x.nbytes for x in read if isinstance(x, Shaped))
    if result.dtype.kind in "iub":
        flops = 0
    record(word, flops=flops, transcendentals=transcendentals, bytes_moved=bytes_read + result.nbytes)
    return result


def elementwise(word, function, *operands, flops=0, transcendentals=0):
    """Apply a NumPy function elementwise to shapes and dtypes.

    Parameters
    ----------
    word : str
        The word, or the name of an operator.
    function : callable
        The NumPy function, which tells the dtype of the result.
    *operands : Shaped or Python number
        What it is applied to.
    flops, transcendentals : int, optional
        What one element costs.

    Returns
    -------
    Shaped
        The result.
    """
    shape = np.broadcast_shapes(*(x.shape for x in map(checked, operands) if isinstance(x, Shaped)))
    n = math.prod(shape)
    dtype = dtype_of(function, *operands)
    return made(word, shape, dtype, *operands, flops=flops * n, transcendentals=transcendentals * n)


def dtype_of(function, *operands):
    """Find the dtype of a result by asking NumPy about single elements.

    Parameters
    ----------
    function : callable
        A NumPy function.
    *operands : Shaped or Python number
        What it would be applied to; 16-bit floats stay 16-bit floats, as with `Narrow` arrays.

    Returns
    -------
    numpy.dtype
        The dtype of its result.
    """
    return function(*(_sample(x) if isinstance(x, Shaped) else x for x in operands)).dtype


def _sample(x):
    one = np.ones((1, 1), x.dtype)
    return narrow(one, x.dtype) if x.dtype in DTYPES.values() else one


def checked(x):
    """Refuse what does not mix with shape-only arrays.

    Parameters
    ----------
    x : Shaped or Python number
        An operand.

    Returns
    -------
    Shaped or Python number
        The same.

    Raises
    ------
    TypeError
        For host arrays and everything else.
    """
    if isinstance(x, Shaped) or type(x) in (bool, int, float, complex):
        return x
    raise TypeError(f"expected a shape-only array or a Python number, got {type(x).__name__}")
