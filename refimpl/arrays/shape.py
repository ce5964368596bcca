"""Undo a broadcast: gradients take the shape of the argument they belong to."""

from refimpl.arrays.namespace import array_namespace


def sum_to(x, shape):
    """Sum over the axes along which an argument of this shape was broadcast to that of `x`.

    Parameters
    ----------
    x : array, shape (...)
        A gradient in the broadcast shape.
    shape : tuple of int
        The argument's own shape.

    Returns
    -------
    array
        The gradient in the argument's shape.
    """
    xp = array_namespace(x)
    n_new = x.ndim - len(shape)
    stretched = tuple(n_new + i for i, size in enumerate(shape) if size == 1 and x.shape[n_new + i] != 1)
    axes = tuple(range(n_new)) + stretched
    return xp.reshape(xp.sum(x, axis=axes), shape) if axes else x
