"""Change a checkpoint from one rotary layout to the other: permute the rows of the query and key projections."""

from refimpl.arrays import array_namespace, check_floating, check_rank, check_setting


def half_to_interleaved(weight, *, n_head, d_rotary=None):
    """Permute a projection whose pairs are features i and i + d_rotary / 2, so that they become 2 i and 2 i + 1.

    Parameters
    ----------
    weight : array, shape (n_head * d_head, ...)
        The weight, or the bias, of a query or key projection.
    n_head : int
        The number of heads; for keys the number of key heads.
    d_rotary : int, optional
        How many features of a head are turned; by default all.

    Returns
    -------
    array, shape (n_head * d_head, ...)
        The same rows in another order, within every head.

    Raises
    ------
    ValueError
        If the sizes do not fit.
    TypeError
        If `weight` is not floating.

    Notes
    -----
    Queries and keys must both be permuted; their products, and so the attention, stay what they were.  Values and the
    output projection stay.
    """
    return _permuted(weight, n_head, d_rotary, to_interleaved=True)


def interleaved_to_half(weight, *, n_head, d_rotary=None):
    """Permute the other way round: the inverse of `half_to_interleaved`.

    Parameters
    ----------
    weight : array, shape (n_head * d_head, ...)
        The weight, or the bias, of a query or key projection.
    n_head : int
        The number of heads; for keys the number of key heads.
    d_rotary : int, optional
        How many features of a head are turned; by default all.

    Returns
    -------
    array, shape (n_head * d_head, ...)
        The same rows in another order, within every head.

    Raises
    ------
    ValueError
        If the sizes do not fit.
    TypeError
        If `weight` is not floating.
    """
    return _permuted(weight, n_head, d_rotary, to_interleaved=False)


def _permuted(weight, n_head, d_rotary, *, to_interleaved):
    xp = array_namespace(weight)
    check_floating(weight=weight)
    check_rank("weight", weight, 1)
    n_row, rest = weight.shape[0], weight.shape[1:]
    check_setting("n_head", n_head, n_head >= 1 and n_row % n_head == 0, f"a divisor of {n_row}, the rows of weight")
    d_head = n_row // n_head
    n_rotary = d_head if d_rotary is None else d_rotary
    fits = n_rotary % 2 == 0 and 0 <= n_rotary <= d_head
    check_setting("d_rotary", n_rotary, fits, f"even and at most {d_head}, the size of a head")

    heads = xp.reshape(weight, (n_head, d_head, *rest))
    parts = (2, n_rotary // 2) if to_interleaved else (n_rotary // 2, 2)
    pairs = xp.swapaxes(xp.reshape(heads[:, :n_rotary], (n_head, *parts, *rest)), 1, 2)
    turned = xp.reshape(pairs, (n_head, n_rotary, *rest))
    return xp.reshape(xp.concatenate([turned, heads[:, n_rotary:]], axis=1), (n_row, *rest))
