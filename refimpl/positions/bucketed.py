"""Bucketed relative positions: a learned bias for near distances one by one, for far ones in groups (T5)."""

import math

from refimpl.arrays import (
    array_namespace,
    check_floating,
    check_gradient,
    check_params,
    check_setting,
    check_shape,
    scatter_add,
)


def bucketed_bias(params, *, n_query, n_key, max_distance=128, bidirectional=True):
    """Look up the bias of every head for every query and key.

    Parameters
    ----------
    params : dict of array
        ``weight`` of shape (n_bucket, n_head), the `relative_attention_bias` of T5.
    n_query, n_key : int
        The numbers of queries and keys; the last query is at the position of the last key.
    max_distance : int, optional
        From this distance on all keys share the last bucket.
    bidirectional : bool, optional
        Whether keys after the query have half of the buckets; otherwise they share the bucket of distance 0.

    Returns
    -------
    y : array, shape (n_head, n_query, n_key)
        The `bias` of `refimpl.attention.dot_product.attention`.
    pullback : callable
        Maps dy to ``(dparams,)``; all distances in a bucket add up.

    Raises
    ------
    ValueError
        If a shape, a parameter name or a setting does not fit.
    TypeError
        If the weight is not floating.

    Notes
    -----
    T5 does not scale its scores: give attention ``scale=1.0``.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    xp = array_namespace(params)
    check_params(params, ["weight"])
    check_floating(params=params)
    weight = params["weight"]
    check_shape("weight", weight, (None, None))
    n_bucket, n_head = weight.shape

    buckets = relative_buckets(
        n_query, n_key, n_bucket=n_bucket, max_distance=max_distance, bidirectional=bidirectional, like=weight
    )
    y = xp.moveaxis(weight[buckets], -1, 0)

    def pullback(dy):
        check_gradient(dy, (n_head, n_query, n_key), weight.dtype)
        n_pair = n_query * n_key
        rows = xp.reshape(xp.moveaxis(dy, 0, -1), (n_pair, n_head))
        return ({"weight": scatter_add(xp.reshape(buckets, (n_pair,)), rows, n_bucket)},)

    return y, pullback


def relative_buckets(n_query, n_key, *, n_bucket, max_distance, bidirectional, like):
    """Sort the distances between queries and keys into buckets.

    Parameters
    ----------
    n_query, n_key : int
        The numbers of queries and keys; the last query is at the position of the last key.
    n_bucket : int
        The number of buckets.
    max_distance : int
        From this distance on all keys share the last bucket.
    bidirectional : bool
        Whether keys after the query have half of the buckets.
    like : array
        Any array of the library in which the buckets are made.

    Returns
    -------
    array of int, shape (n_query, n_key)
        In [0, n_bucket).

    Raises
    ------
    ValueError
        If there are too few buckets, or the largest distance lies among those that have a bucket each.
    """
    xp = array_namespace(like)
    fits = n_bucket >= 4 and n_bucket % 2 == 0 if bidirectional else n_bucket >= 2
    check_setting("n_bucket", n_bucket, fits, "even and at least 4" if bidirectional else "at least 2")
    n_side = n_bucket // 2 if bidirectional else n_bucket
    check_setting("max_distance", max_distance, max_distance > n_side // 2, f"greater than {n_side // 2}")

    # All that matters is key - query, which takes n_query + n_key - 1 values: sort those.
    ahead = xp.arange(1 - n_key, n_query)
    is_after = ahead > 0
    distance = xp.where(is_after, ahead if bidirectional else 0, -ahead)
    starts = xp.asarray(_bucket_starts(n_side, max_distance), dtype=xp.int64)
    bucket = xp.sum(distance[:, None] >= starts, axis=-1)
    sided = xp.where(is_after, bucket + n_side, bucket) if bidirectional else bucket
    return sided[xp.arange(n_key)[None, :] + xp.arange(n_query - 1, -1, -1)[:, None]]


def _bucket_starts(n_side, max_distance):
    """List the smallest distance of every bucket but the first, in integers: logarithms would round at powers."""
    n_exact = n_side // 2
    n_far = n_side - n_exact
    starts = [*range(1, n_exact + 1)]
    for i in range(1, n_far):
        # distance >= n_exact (max_distance / n_exact)^(i / n_far), raised to the power n_far
        bound = math.prod([n_exact] * (n_far - i)) * math.prod([max_distance] * i)
        distance = starts[-1]
        while math.prod([distance] * n_far) < bound:
            distance = distance + 1
        starts.append(distance)
    return starts
