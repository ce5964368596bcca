"""Clusters of a vocabulary sorted by frequency: where each begins, and what their parameters must be."""

from refimpl.arrays import check_params, check_setting, check_shape, integer


def cluster_bounds(cutoffs, n_token):
    """Say which tokens each cluster holds.

    Parameters
    ----------
    cutoffs : sequence of int
        The first token of every cluster but the first, rising; none for one cluster.
    n_token : int
        The size of the vocabulary.

    Returns
    -------
    list of tuple of int
        The first token of each cluster, and the one after its last.

    Raises
    ------
    ValueError
        If a cluster would be empty.
    """
    ends = [integer("cutoffs", cutoff) for cutoff in cutoffs] + [n_token]
    starts = [0, *ends[:-1]]
    rising = all(start < end for start, end in zip(starts, ends, strict=True))
    check_setting("cutoffs", tuple(cutoffs), rising, f"rising, between 0 and n_token = {n_token}")
    return list(zip(starts, ends, strict=True))


def check_tables(params, cutoffs, others=()):
    """Require one table for each cluster, and the parameters that may stand beside it.

    Parameters
    ----------
    params : dict of array
        ``tables.{i}.weight`` (n_i, d_i) and, optionally, ``projections.{i}.weight`` (d_model, d_i).
    cutoffs : sequence of int
        As for `cluster_bounds`.
    others : sequence of str, optional
        More keys that must be there.

    Returns
    -------
    bounds : list of tuple of int
        As `cluster_bounds` gives them.
    d_model : int
        The width on the side of the model, which all clusters share.

    Raises
    ------
    ValueError
        If a key, a number of rows or a width does not fit.
    """
    n_cluster = len(cutoffs) + 1
    tables = [f"tables.{i}.weight" for i in range(n_cluster)]
    projections = [f"projections.{i}.weight" for i in range(n_cluster)]
    check_params(params, [*tables, *others], projections)
    for table in tables:
        check_shape(table, params[table], (None, None))
    bounds = cluster_bounds(cutoffs, sum(params[table].shape[0] for table in tables))
    widths = [
        params[projection].shape[0] if projection in params else params[table].shape[1]
        for table, projection in zip(tables, projections, strict=True)
    ]
    for (start, end), table, projection in zip(bounds, tables, projections, strict=True):
        d_cluster = params[table].shape[1] if projection in params else widths[0]
        check_shape(table, params[table], (end - start, d_cluster))
        if projection in params:
            check_shape(projection, params[projection], (widths[0], d_cluster))
    return bounds, widths[0]


def added(arrays):
    """Add up what the clusters give.

    Parameters
    ----------
    arrays : sequence of array, each of shape (...)
        One for each cluster.

    Returns
    -------
    array, shape (...)
        Their sum.
    """
    first, *others = arrays
    total = first
    for other in others:
        total = total + other
    return total
