"""Sigmoid linear unit, also called swish: x sigmoid(x) (Elfwing et al. 2018, arXiv:1702.03118)."""

from refimpl.arrays import array_namespace, check_floating, check_gradient
from refimpl.layers.sigmoid import sigmoid


def silu(x):
    """Weigh x by its own sigmoid.

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.

    Returns
    -------
    y : array, shape (...)
        ``x / (1 + exp(-x))``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.

    References
    ----------
    Elfwing, Uchibe, Doya (2018), "Sigmoid-Weighted Linear Units", arXiv:1702.03118, eq. 5.
    """
    array_namespace(x)
    check_floating(x=x)

    share, _ = sigmoid(x)
    y = x * share

    def pullback(dy):
        check_gradient(dy, x.shape, x.dtype)
        dx = dy * (share * (1.0 + x * (1.0 - share)))
        return (dx,)

    return y, pullback
