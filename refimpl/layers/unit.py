"""Vectors of length 1, which are compared by their angle alone."""

from refimpl.arrays import array_namespace, check_floating, check_gradient, check_rank


def unit_vectors(x):
    """Divide every vector by its length.

    Parameters
    ----------
    x : array, shape (..., d)
        Vectors, none of which is 0.

    Returns
    -------
    y : array, shape (..., d)
        ``x / |x|``.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.

    Notes
    -----
    `torch.nn.functional.normalize` divides by 1e-12 at least; a vector of 0 gives NaN here, as in CLIP.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    check_rank("x", x, 1)
    length = xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True))  # (..., 1)
    y = x / length

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        # Stretching x leaves y alone: dx has no part along y.
        along_y = xp.sum(dy * y, axis=-1, keepdims=True)
        return ((dy - y * along_y) / length,)

    return y, pullback
