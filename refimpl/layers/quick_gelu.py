"""GELU approximated by a sigmoid, as CLIP was trained (Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2)."""

from refimpl.arrays import array_namespace, check_floating, check_gradient
from refimpl.layers.sigmoid import sigmoid

SLOPE = 1.702


def quick_gelu(x):
    """Weigh x by a logistic sigmoid of it.

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.

    Returns
    -------
    y : array, shape (...)
        ``x * sigmoid(1.702 x)``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.

    Notes
    -----
    ``"quick_gelu"`` of Hugging Face.  It differs from `gelu` by up to 0.02, more than training forgives: a checkpoint
    needs the one that it was trained with.

    References
    ----------
    Hendrycks, Gimpel (2016), "Gaussian Error Linear Units", arXiv:1606.08415, section 2.
    """
    array_namespace(x)
    check_floating(x=x)
    weight, sigmoid_pullback = sigmoid(x * SLOPE)
    y = x * weight

    def pullback(dy):
        check_gradient(dy, x.shape, x.dtype)
        (dscaled,) = sigmoid_pullback(dy * x)
        return (dy * weight + dscaled * SLOPE,)

    return y, pullback
