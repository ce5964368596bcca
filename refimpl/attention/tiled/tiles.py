"""Tiles of the scores: which rows and columns they have, and what of a broadcast array lies in one."""

from refimpl.arrays import array_namespace


def tiles(n, size):
    """Cut positions into runs of one size; the last may be shorter.

    Parameters
    ----------
    n : int
        The number of positions.
    size : int
        The size of a tile, at least 1.

    Returns
    -------
    list of (int, int)
        The first position of every tile and the one after its last; of no positions, one empty tile.
    """
    return [(start, start + size if start + size < n else n) for start in range(0, n, size)] or [(0, 0)]


def cut(x, rows, columns):
    """Take what lies in a tile of an array that broadcasts to the scores.

    Parameters
    ----------
    x : array or None
        A mask, bias or keep-mask, with at least two axes.
    rows, columns : tuple of (int, int)
        First and last-but-one position of the queries and of the keys.

    Returns
    -------
    array or None
        The part; an axis of size 1 stays, for it stands for every position.
    """
    if x is None:
        return None
    n_row, n_column = x.shape[-2:]
    row_slice = slice(0, 1) if n_row == 1 else slice(*rows)
    column_slice = slice(0, 1) if n_column == 1 else slice(*columns)
    return x[..., row_slice, column_slice]


def joined(parts, *, axis, size):
    """Put the gradients of the parts of `cut` together: the transpose of cutting.

    Parameters
    ----------
    parts : list of array
        One for each tile along the axis, in order.
    axis : {-2, -1}
        The axis that was cut.
    size : int
        How long the array is there; a size of 1 was not cut but shared by all tiles, so the parts add up.

    Returns
    -------
    array
        The whole.
    """
    xp = array_namespace(parts)
    if size != 1:
        return xp.concatenate(parts, axis=axis)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
