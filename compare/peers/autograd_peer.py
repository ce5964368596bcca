"""Derivatives of the reference's forward by HIPS autograd: a tool that shares no code with our pullbacks.

Where it can, it runs in extended precision: its own rounding then has no say, and a formula that is right agrees
with the truth to a thousandth of a sigma.
"""

import warnings

import autograd
import numpy as np

from compare.peers.tree import is_differentiable, leaves, map_arrays


def autograd_gradients(function, args, masks, settings, dy, *, extended=False):
    """Differentiate the forward text.

    Parameters
    ----------
    function : callable
        The component; its own pullback is not used.
    args : tuple of (numpy.ndarray or dict)
        Positional arguments, in float64.
    masks : dict of numpy.ndarray
        Keyword arrays.
    settings : dict
        Keyword settings.
    dy : list of numpy.ndarray
        One cotangent for every output.
    extended : bool, optional
        Whether to compute in longdouble, where autograd knows the functions in it (it knows no such erf).

    Returns
    -------
    list of numpy.ndarray
        The gradients of all differentiable arrays, in order, in float64.
    """
    if extended:
        try:
            return _gradients(function, *map_arrays(_extend, (args, masks)), settings, map_arrays(_extend, dy))
        except TypeError as error:
            if "'erf' not supported" not in str(error):
                raise
    return _gradients(function, args, masks, settings, dy)


def _extend(x):
    return x.astype(np.longdouble) if is_differentiable(x) else x


def _gradients(function, args, masks, settings, dy):
    flat = [x for x in leaves(args) if is_differentiable(x)]

    def weighted(*variables):
        fresh = iter(variables)
        rebuilt = map_arrays(lambda x: next(fresh) if is_differentiable(x) else x, args)
        outputs = leaves(function(*rebuilt, **masks, **settings)[0])
        total = 0.0
        for output, weight in zip(outputs, dy, strict=True):
            total = total + autograd.numpy.sum(output * weight)
        return total

    with warnings.catch_warnings():
        # A gradient that silently comes out as zero announces itself only by this warning.
        warnings.filterwarnings("error", message=".*independent of input.*")
        gradients = autograd.grad(weighted, argnum=tuple(range(len(flat))))(*flat)
    return [np.asarray(gradient, np.float64) for gradient in gradients]
