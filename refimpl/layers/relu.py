"""Rectified linear unit: max(x, 0)."""

from refimpl.arrays import array_namespace, check_floating, check_gradient


def relu(x):
    """Keep what is positive.

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.

    Returns
    -------
    y : array, shape (...)
        x where it is positive, else 0; NaN stays NaN.
    pullback : callable
        Maps dy to ``(dx,)``; the derivative at 0 is 0, as in PyTorch.

    Raises
    ------
    TypeError
        If `x` is not floating.
    """
    xp = array_namespace(x)
    check_floating(x=x)

    off = x <= 0.0
    y = xp.where(off, 0.0, x)
    dtype = y.dtype

    def pullback(dy):
        check_gradient(dy, off.shape, dtype)
        dx = xp.where(off, 0.0, dy)
        return (dx,)

    return y, pullback
