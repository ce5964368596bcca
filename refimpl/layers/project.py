"""A linear map that may be absent."""

from refimpl.layers.linear import linear


def project(x, params):
    """Map by a matrix, where there is one.

    Parameters
    ----------
    x : array, shape (..., d_in)
        Feature vectors.
    params : dict of array
        Those of `linear`, or none.

    Returns
    -------
    y : array, shape (..., d_out)
        ``x W' + b``, or x itself.
    pullback : callable
        Maps dy to ``(dx, dparams)``.
    """
    return linear(x, params) if params else _unchanged(x)


def _unchanged(x):
    def pullback(dy):
        return dy, {}

    return x, pullback
