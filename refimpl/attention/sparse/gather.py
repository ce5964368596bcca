"""Pick some rows of every sequence."""

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_ids,
    check_shape,
    scatter_add,
)


def gather_rows(x, ids):
    """Pick rows by their positions.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d)
        Sequences.
    ids : array of int, shape (n_batch, n_row)
        Positions in each sequence; n_seq stands for no row, so that sequences may have different numbers of them.

    Returns
    -------
    y : array, shape (n_batch, n_row, d)
        The rows; 0 for no row.
    pullback : callable
        Maps dy to ``(dx,)``: puts the rows back, and adds up those that were picked repeatedly.

    Raises
    ------
    ValueError
        If a position lies outside, or the shapes do not fit.
    TypeError
        If `x` is not floating or the positions no integers.
    """
    xp = array_namespace(x, ids)
    check_floating(x=x)
    check_shape("x", x, (None, None, None))
    check_shape("ids", ids, (x.shape[0], None))
    n_batch, n_seq, d = x.shape
    check_ids("ids", ids, n_seq + 1)
    batch = xp.arange(n_batch)[:, None]
    y = xp.pad(x, [(0, 0), (0, 1), (0, 0)], mode="constant")[batch, ids]
    dtype = x.dtype

    def pullback(dy):
        check_gradient(dy, (*ids.shape, d), dtype)
        n_row = n_batch * ids.shape[1]
        places = xp.reshape(ids + batch * (n_seq + 1), (n_row,))
        rows = scatter_add(places, xp.reshape(dy, (n_row, d)), n_batch * (n_seq + 1))
        dx = xp.reshape(rows, (n_batch, n_seq + 1, d))[:, :n_seq]
        return (dx,)

    return y, pullback
