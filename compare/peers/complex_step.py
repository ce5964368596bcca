"""Derivatives of the reference's forward by complex step: no differentiation code at all.

The imaginary part of f(x + ihv) is h times the derivative of f along v, exactly to rounding when h is tiny
(Squire & Trapp 1998, SIAM Review 40, 110).  Along random directions it must equal what the pullback says.
"""

import numpy as np

from compare.peers.tree import is_differentiable, leaves, map_arrays

STEP = 1e-100
N_DIRECTION = 3


def complex_step_products(function, args, masks, settings, dy, generator):
    """Differentiate along random directions of one argument after the other.

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
    generator : numpy.random.Generator
        Draws the directions.

    Returns
    -------
    list of (directions, products)
        For each differentiable array its directions, shape (N_DIRECTION, *shape), and the derivatives of
        ``sum(y * dy)`` along them, shape (N_DIRECTION,).
    """
    flat = [x for x in leaves(args) if is_differentiable(x)]
    results = []
    for position, x in enumerate(flat):
        directions = generator.standard_normal((N_DIRECTION, *x.shape))
        products = [_along(function, args, masks, settings, dy, position, direction) for direction in directions]
        results.append((directions, np.array(products)))
    return results


def _along(function, args, masks, settings, dy, position, direction):
    counter = iter(range(len(leaves(args))))

    def step(x):
        if not is_differentiable(x):
            return x
        return x + (1j * STEP * direction if next(counter) == position else 0j)

    outputs = leaves(function(*map_arrays(step, args), **masks, **settings)[0])
    return sum(float(np.sum(np.imag(y) * d)) for y, d in zip(outputs, dy, strict=True)) / STEP
