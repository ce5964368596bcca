"""Adaptive embedding: frequent tokens have wide vectors, rare ones narrow (Baevski & Auli 2018, arXiv:1809.10853)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradient,
    check_ids,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.adaptive_clusters import added, check_tables
from refimpl.layers.embedding import embedding
from refimpl.layers.project import project


def adaptive_embedding(ids, params, *, cutoffs=()):
    """Look up one row for every token, in the table of its cluster, and bring it to the width of the model.

    Parameters
    ----------
    ids : array of int, shape (...)
        Tokens, the frequent ones first.
    params : dict of array
        For every cluster ``tables.{i}.weight`` (n_i, d_i) and ``projections.{i}.weight`` (d_model, d_i); without its
        projection a table has the width d_model.
    cutoffs : sequence of int, optional
        The first token of every cluster but the first; by default there is one cluster.

    Returns
    -------
    y : array, shape (..., d_model)
        The rows, projected.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If an id is out of range, or a cutoff, a shape or a parameter name does not fit.
    TypeError
        If the ids are not integers, or the parameters not floating, of one dtype and one library.

    Notes
    -----
    Every cluster looks up every token, those of others as its first row, and what does not belong is left out: the
    shapes do not depend on the ids.  Transformer-XL multiplies by ``sqrt(d_model)`` afterwards, and calls the ratio of
    the widths d_i of neighbouring clusters ``div_val``; with ``div_val=1`` it has one table and no cutoffs here.

    References
    ----------
    Baevski, Auli (2018), "Adaptive Input Representations for Neural Language Modeling", arXiv:1809.10853, section 3.
    """
    xp = array_namespace(ids, params)
    check_floating(params=params)
    bounds, _ = check_tables(params, cutoffs)
    check_ids("ids", ids, bounds[-1][1])
    parts, pullbacks = [], []
    for i, (start, end) in enumerate(bounds):
        inside = (ids >= start) & (ids < end)
        rows, rows_pullback = embedding(xp.where(inside, ids - start, 0), scope(params, f"tables.{i}."))
        wide, wide_pullback = project(rows, scope(params, f"projections.{i}."))
        parts.append(xp.where(inside[..., None], wide, 0.0))
        pullbacks.append((inside, rows_pullback, wide_pullback))
    y = added(parts)
    d_model, dtype = y.shape[-1], y.dtype

    def pullback(dy):
        check_gradient(dy, (*ids.shape, d_model), dtype)
        dparams = {}
        for i, (inside, rows_pullback, wide_pullback) in enumerate(pullbacks):
            drows, dprojection = wide_pullback(xp.where(inside[..., None], dy, 0.0))
            (dtable,) = rows_pullback(drows)
            dcluster = merge(add_prefix(f"tables.{i}.", dtable), add_prefix(f"projections.{i}.", dprojection))
            dparams = merge(dparams, dcluster)
        return (keyed_as(dparams, params),)

    return y, pullback
