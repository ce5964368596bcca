"""Squared rectifier (So et al. 2021, arXiv:2109.08668, section 4)."""

from refimpl.arrays import array_namespace, check_floating, check_gradient


def squared_relu(x):
    """Square what is positive, and drop the rest.

    Parameters
    ----------
    x : array, shape (...)
        Any numbers.

    Returns
    -------
    y : array, shape (...)
        ``max(x, 0)²``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.

    References
    ----------
    So et al. (2021), "Primer: Searching for Efficient Transformers for Language Modeling", arXiv:2109.08668, section 4.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    positive = xp.where(x > 0.0, x, 0.0)
    y = positive * positive

    def pullback(dy):
        check_gradient(dy, positive.shape, positive.dtype)
        return (2.0 * positive * dy,)

    return y, pullback
