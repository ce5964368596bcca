"""The position of every vector of a sequence."""

from refimpl.arrays import array_namespace, check_broadcastable, check_ids, check_setting

FARTHEST = 2**31  # float32 no longer tells neighbours apart long before


def position_ids(x, positions, offset):
    """Count from an offset, or take the positions that are given.

    Parameters
    ----------
    x : array, shape (..., n_seq, d)
        Feature vectors, queries or keys.
    positions : array of int, broadcasts to (..., n_seq), or None
        The position of every vector.
    offset : int
        The position of the first vector, where there are no `positions`.

    Returns
    -------
    array of int, shape (n_seq,) or that of `positions`
        The positions.

    Raises
    ------
    ValueError
        If the positions do not broadcast to the vectors, are negative, or come together with an offset.
    TypeError
        If the positions are not integers.
    """
    xp = array_namespace(x, positions)
    check_setting("offset", offset, offset >= 0, "at least 0")
    if positions is None:
        return xp.arange(offset, offset + x.shape[-2])
    check_setting("offset", offset, offset == 0, "0 where there are positions")
    check_ids("positions", positions, FARTHEST)
    check_broadcastable("positions", positions, x.shape[:-1])
    return positions
