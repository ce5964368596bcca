"""Arrays that know how many operations had to be done one after the other to make them.

What a parallel machine cannot shorten is the longest chain of operations in which each needs the one before.  Every
word that computes makes the chain one longer than the longest among its operands; words that only move elements
leave it as it is.
"""

import operator
from types import SimpleNamespace

import numpy as np

from refimpl.arrays import VOCABULARY, special

MOVES = (
    "reshape swapaxes moveaxis expand_dims squeeze concatenate stack split pad zeros ones full arange zeros_like "
    "ones_like asarray"
).split()


class Chain:
    """An array and the length of the longest chain of operations behind it.

    Parameters
    ----------
    value : numpy.ndarray
        The numbers.
    length : int
        The length of the chain.
    """

    __array_ufunc__ = None  # NumPy arrays leave their operators to ours

    def __init__(self, value, length=0):
        self.value = np.asarray(value)
        self.length = length

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    dtype = property(lambda self: self.value.dtype)

    def __array_namespace__(self):
        return WORDS

    def __getitem__(self, index):
        return _apply(lambda x, i: x[i], 0, self, index)

    def __int__(self):
        return int(self.value)

    def __neg__(self):
        return _apply(operator.neg, 1, self)

    def __invert__(self):
        return _apply(operator.invert, 1, self)

    def astype(self, dtype):
        """Convert; the chain stays as long as it is.

        Parameters
        ----------
        dtype : dtype
            The dtype to convert to.

        Returns
        -------
        Chain
            The converted array.
        """
        return _apply(lambda x: x.astype(dtype), 0, self)


def _apply(function, step, *args, **keywords):
    behind = []
    plain = _bare((args, keywords), behind)
    result = function(*plain[0], **plain[1])
    length = max(behind, default=0) + step
    return [Chain(part, length) for part in result] if isinstance(result, list) else Chain(result, length)


def _bare(tree, behind):
    if isinstance(tree, Chain):
        behind.append(tree.length)
        return tree.value
    if isinstance(tree, tuple | list):
        return type(tree)(_bare(item, behind) for item in tree)
    if isinstance(tree, dict):
        return {key: _bare(item, behind) for key, item in tree.items()}
    return tree


def _binary(name):
    function = getattr(operator, name)
    return lambda a, b: _apply(function, 1, a, b)


def _reflected(name):
    function = getattr(operator, name)
    return lambda a, b: _apply(function, 1, b, a)


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Chain, f"__{_name}__", _binary(_name))
    setattr(Chain, f"__r{_name}__", _reflected(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "and_", "or_"):
    setattr(Chain, f"__{_name.rstrip('_')}__", _binary(_name))


def _word(name):
    function, step = getattr(np, name), 0 if name in MOVES else 1
    if isinstance(function, type):
        return function  # a dtype
    return lambda *args, **keywords: _apply(function, step, *args, **keywords)


WORDS = SimpleNamespace(
    **{name: _word(name) for name in VOCABULARY},
    erf=lambda x: _apply(special.erf, 1, x),
    scatter_add=lambda ids, values, n: _apply(special.scatter_add, 1, ids, values, n),
)
