"""Logistic sigmoid: 1 / (1 + exp(-x))."""

from refimpl.arrays import array_namespace, check_floating, check_gradient


def sigmoid(x):
    """Squash to (0, 1).

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.

    Returns
    -------
    y : array, shape (...)
        ``1 / (1 + exp(-x))``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.
    """
    xp = array_namespace(x)
    check_floating(x=x)

    # The exponential of a negative number never overflows, and y keeps its relative precision on both sides.
    is_positive = x > 0.0
    decay = xp.exp(xp.where(is_positive, -x, x))
    y = xp.where(is_positive, 1.0, decay) / (1.0 + decay)

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        dx = dy * (y * (1.0 - y))
        return (dx,)

    return y, pullback
