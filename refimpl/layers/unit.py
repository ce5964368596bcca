"""Vectors of length 1, which are compared by their angle alone."""

from refimpl.arrays import array_namespace, cast, check_floating, check_gradient, check_rank, widen


def unit_vectors(x):
    """Divide every vector by its length.

    Parameters
    ----------
    x : array, shape (..., d)
        Vectors.

    Returns
    -------
    y : array, shape (..., d)
        ``x / |x|``; a vector of 0, which points nowhere, stays 0.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    TypeError
        If `x` is not floating.

    Notes
    -----
    `torch.nn.functional.normalize` divides by 1e-12 at least, where the length of 0 counts as 1 here; CLIP's own text
    makes NaN of a vector of 0.  Lengths are taken in float32 or better: squares of float16 overflow from 256 on, and
    are 0 below 2e-4.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    check_rank("x", x, 1)
    wide = widen(x)
    square = xp.sum(wide * wide, axis=-1, keepdims=True)  # (..., 1)
    length = xp.sqrt(xp.where(square == 0.0, 1.0, square))
    unit = wide / length

    def pullback(dy):
        check_gradient(dy, x.shape, x.dtype)
        g = widen(dy)
        # Stretching x leaves y alone: dx has no part along y.
        along_unit = xp.sum(g * unit, axis=-1, keepdims=True)
        return (cast((g - unit * along_unit) / length, x.dtype),)

    return cast(unit, x.dtype), pullback
