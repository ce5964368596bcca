"""Hyperbolic tangent."""

from refimpl.arrays import array_namespace, check_floating, check_gradient


def tanh(x):
    """Squash to (-1, 1).

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.

    Returns
    -------
    y : array, shape (...)
        ``tanh(x)``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.
    """
    xp = array_namespace(x)
    check_floating(x=x)

    y = xp.tanh(x)

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        dx = dy * (1.0 - y * y)
        return (dx,)

    return y, pullback
