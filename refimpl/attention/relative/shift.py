"""The shift that turns scores by distance into scores by key (Dai et al. 2019, arXiv:1901.02860, appendix B)."""

from refimpl.arrays import array_namespace, check_floating, check_gradient, check_rank


def relative_shift(x):
    """Shift the rows of scores, each one place further to the left than the one below it.

    Parameters
    ----------
    x : array, shape (..., n_query, n_key)
        Scores of every query with the distances n_key - 1, …, 1, 0.

    Returns
    -------
    y : array, shape (..., n_query, n_key)
        Scores of every query with the keys up to its own position, aligned bottom-right; 0 for keys after it, whose
        distance would be negative.
    pullback : callable
        Maps dy to ``(dx,)``; distances that reach beyond the first key have gradient 0.

    Raises
    ------
    ValueError
        If there are fewer than two axes.
    TypeError
        If `x` is not floating.

    Notes
    -----
    Row i of y is ``x[i, n_query - 1 - i:]``.  The trick is to read x with one more column in rows that are one
    shorter.  What then stands after the diagonal comes from the next row; other code leaves it there for a mask.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, appendix B.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    check_rank("x", x, 2)
    *lead, n_query, n_key = x.shape
    n_before = n_key - n_query

    wider = xp.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 0)], mode="constant")  # (..., n_query, n_key + 1)
    rows = xp.reshape(wider, (*lead, n_key + 1, n_query))[..., 1:, :]
    y = xp.tril(xp.reshape(rows, (*lead, n_query, n_key)), k=n_before)

    def pullback(dy):
        check_gradient(dy, x.shape, x.dtype)
        drows = xp.reshape(xp.tril(dy, k=n_before), (*lead, n_key, n_query))
        dwider = xp.pad(drows, [(0, 0)] * (x.ndim - 2) + [(1, 0), (0, 0)], mode="constant")
        dx = xp.reshape(dwider, (*lead, n_query, n_key + 1))[..., 1:]
        return (dx,)

    return y, pullback
