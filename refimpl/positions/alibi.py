"""ALiBi: a bias that falls linearly with the distance, at a slope for every head (Press et al. 2022)."""

import math

from refimpl.arrays import array_namespace, cast, check_floating, check_setting, table_dtype


def alibi_slopes(n_head):
    """List how steeply the attention of every head falls.

    Parameters
    ----------
    n_head : int
        Any number of heads.

    Returns
    -------
    list of float
        For a power of two the geometric series from ``2 ** (-8 / n_head)`` to ``2 ** -8``.  Otherwise that of the power
        of two below, then every other one of the series of twice as many: 12 heads have 2^-1, ..., 2^-8, then
        2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5.

    Raises
    ------
    ValueError
        If there is no head.

    References
    ----------
    Press, Smith, Lewis (2022), "Train Short, Test Long", arXiv:2108.12409, section 3, and its code for other numbers.
    """
    check_setting("n_head", n_head, n_head >= 1, "at least 1")
    n_even = 1 << (n_head.bit_length() - 1)  # the largest power of two that is not larger
    return _series(n_even) + _series(2 * n_even)[0::2][: n_head - n_even]


def alibi_bias(n_query, n_key, *, n_head, like):
    """Make the bias of all heads, to be added to the scores.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys; the last query is at the position of the last key.
    n_head : int
        The number of heads.
    like : array
        Queries, say: the bias gets their library and dtype.

    Returns
    -------
    array, shape (n_head, n_query, n_key)
        Minus the slope times the distance between query and key: the `bias` of
        `refimpl.attention.dot_product.attention`.

    Raises
    ------
    ValueError
        If there is no head.
    TypeError
        If `like` is not floating.

    Notes
    -----
    Keys after the query are as far away as those before it: under a causal mask they do not count.  Bloom and MPT add
    ``slope * (key - n_key + 1)`` instead: it differs by a number for each query, which the softmax does not see.
    Distances are exact and products rounded in float32 or better, whatever the dtype of `like`.

    References
    ----------
    Press, Smith, Lewis (2022), "Train Short, Test Long", arXiv:2108.12409, section 3.
    """
    xp = array_namespace(like)
    return alibi_bias_at(xp.arange(n_key - n_query, n_key), xp.arange(n_key), n_head=n_head, like=like)


def alibi_bias_at(query_positions, key_positions, *, n_head, like):
    """Make the bias where queries and keys stand at positions of their own, as in a padded batch or with a cache.

    Parameters
    ----------
    query_positions : array of int, shape (..., n_query)
        Where the queries stand.
    key_positions : array of int, shape (..., n_key)
        Where the keys stand.
    n_head : int
        The number of heads.
    like : array
        Queries, say: the bias gets their library and dtype.

    Returns
    -------
    array, shape (..., n_head, n_query, n_key)
        Minus the slope times the distance between query and key.

    Raises
    ------
    ValueError
        If there is no head.
    TypeError
        If `like` is not floating.
    """
    xp = array_namespace(query_positions, key_positions, like)
    check_floating(like=like)
    dtype = table_dtype(like)
    slopes = xp.asarray(alibi_slopes(n_head), dtype=dtype)
    ahead = key_positions[..., None, None, :] - query_positions[..., None, :, None]  # (..., 1, n_query, n_key)
    nearness = xp.where(ahead > 0, -ahead, ahead)
    return cast(slopes[:, None, None] * nearness.astype(dtype), like.dtype)


def _series(n_head):
    return [math.pow(2.0, -8.0 * (i + 1) / n_head) for i in range(n_head)]
