"""Which entries are the largest: a choice, without a gradient."""

import math

from refimpl.arrays import array_namespace, check_floating, check_rank, integer


def largest(x, n):
    """Say which entries of the last axis are the `n` largest.

    Parameters
    ----------
    x : array, shape (..., n_entry)
        Any numbers.
    n : int
        How many, at most n_entry.

    Returns
    -------
    array of bool, shape (..., n_entry)
        True for `n` entries; of equal ones the first are taken.

    Raises
    ------
    ValueError
        If there are not so many entries.
    TypeError
        If `x` is not floating.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    check_rank("x", x, 1)
    integer("n", n, at_least=0, below=x.shape[-1] + 1)
    places = xp.arange(x.shape[-1])
    taken = xp.zeros(x.shape, dtype=xp.bool_)
    for _ in range(n):
        best = xp.argmax(xp.where(taken, -math.inf, x), axis=-1)
        taken = taken | (places == best[..., None])
    return taken
