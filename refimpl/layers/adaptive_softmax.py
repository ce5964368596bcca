"""Adaptive softmax: a rare token's cluster is chosen first, then the token (Grave et al. 2016, arXiv:1609.04309)."""

import math

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradient,
    check_ids,
    check_integers,
    check_rank,
    check_shape,
    integer,
    keyed_as,
    merge,
    scatter_add,
    scope,
)
from refimpl.layers.adaptive_clusters import added, check_tables
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.linear import linear
from refimpl.layers.project import project
from refimpl.layers.softmax import log_softmax


def adaptive_log_softmax(x, params, *, cutoffs=()):
    """Give the log-probability of every token of the vocabulary.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Hidden states.
    params : dict of array
        For every cluster ``tables.{i}.weight`` (n_i, d_i), ``tables.{i}.bias`` (n_i,) and ``projections.{i}.weight``
        (d_model, d_i), by the transpose of which x comes to the width of the cluster; without it that is d_model.
        ``clusters.weight`` (n_cluster - 1, d_0) and ``clusters.bias`` score the clusters beside the tokens of the
        first.  The biases may be absent.
    cutoffs : sequence of int, optional
        The first token of every cluster but the first; by default there is one cluster.

    Returns
    -------
    y : array, shape (..., n_token)
        ``log p(token)`` in the first cluster, ``log p(cluster) + log p(token | cluster)`` in the others.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a cutoff, a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, of one dtype and of one library.

    Notes
    -----
    Cluster i is scored by row i - 1 of ``clusters.weight``, as in `torch.nn.AdaptiveLogSoftmaxWithLoss` and
    `transformers`; the authors of Transformer-XL count these rows from the end.

    References
    ----------
    Grave et al. (2016), "Efficient softmax approximation for GPUs", arXiv:1609.04309, section 4.
    """
    xp = array_namespace(x, params)
    bounds = _check(x, params, cutoffs)
    head_scores, head_pullback = _scores(x, params, 0)
    head, head_softmax_pullback = log_softmax(head_scores)  # (..., cutoffs[0] + n_cluster - 1)
    n_first = bounds[0][1]
    parts, pullbacks = [head[..., :n_first]], []
    for i in range(1, len(bounds)):
        scores, scores_pullback = _scores(x, params, i)
        within, softmax_pullback = log_softmax(scores)
        parts.append(head[..., n_first + i - 1 : n_first + i] + within)
        pullbacks.append((softmax_pullback, scores_pullback))
    y = xp.concatenate(parts, axis=-1)

    def pullback(dy):
        check_gradient(dy, (*x.shape[:-1], bounds[-1][1]), x.dtype)
        dfirst, *dothers = xp.split(dy, [*cutoffs], axis=-1)
        # A cluster's log-probability was added to every one of its tokens'.
        dhead = xp.concatenate([dfirst, *[xp.sum(dpart, axis=-1, keepdims=True) for dpart in dothers]], axis=-1)
        (dhead_scores,) = head_softmax_pullback(dhead)
        gradients = [head_pullback(dhead_scores)]
        for dpart, (softmax_pullback, scores_pullback) in zip(dothers, pullbacks, strict=True):
            (dscores,) = softmax_pullback(dpart)
            gradients.append(scores_pullback(dscores))
        dx, dparams = _gathered(gradients)
        return dx, keyed_as(dparams, params)

    return y, pullback


def adaptive_cross_entropy(x, targets, params, *, cutoffs=(), ignore_index=-100):
    """Measure how surprising each target is, scoring only the clusters where there are targets.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Hidden states.
    targets : array of int, shape (...)
        The right tokens, or `ignore_index`.
    params : dict of array
        As for `adaptive_log_softmax`.
    cutoffs : sequence of int, optional
        As for `adaptive_log_softmax`.
    ignore_index : int, optional
        Targets of this value have loss 0 and gradient 0, whatever their hidden states are.

    Returns
    -------
    y : array, shape (...)
        ``-log p(target)``, in nats, 0 where it is ignored.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a target, a cutoff, a shape or a parameter name does not fit.
    TypeError
        If the targets are not integers, or the other arrays not floating, of one dtype and one library.

    Notes
    -----
    `transformers` gives the losses in the order of the clusters, unless ``keep_order`` is set.

    References
    ----------
    Grave et al. (2016), "Efficient softmax approximation for GPUs", arXiv:1609.04309, section 4.
    """
    xp = array_namespace(x, targets, params)
    bounds = _check(x, params, cutoffs)
    check_integers("targets", targets)
    check_shape("targets", targets, x.shape[:-1])
    integer("ignore_index", ignore_index)
    n_row, n_first = math.prod(targets.shape), bounds[0][1]
    flat = xp.reshape(targets, (n_row,))
    ignored = flat == ignore_index
    check_ids("targets", xp.where(ignored, 0, flat), bounds[-1][1])
    rows = xp.where(ignored[:, None], 0.0, xp.reshape(x, (n_row, x.shape[-1])))

    # In the head a rare token's target is its cluster.
    cluster = added([0 * flat, *[(flat >= cutoff).astype(xp.int64) for cutoff in cutoffs]])
    head_targets = xp.where(cluster == 0, flat, n_first - 1 + cluster)
    head_scores, head_pullback = _scores(rows, params, 0)
    losses, losses_pullback = cross_entropy(
        head_scores, xp.where(ignored, ignore_index, head_targets), ignore_index=ignore_index, reduction="none"
    )
    parts, pullbacks = [losses], []
    for i, (start, _) in enumerate(bounds[1:], 1):
        places = xp.arange(n_row)[(cluster == i) & ~ignored]
        scores, scores_pullback = _scores(rows[places], params, i)
        within, within_pullback = cross_entropy(scores, flat[places] - start, reduction="none")
        parts.append(scatter_add(places, within[:, None], n_row)[:, 0])
        pullbacks.append((places, within_pullback, scores_pullback))
    y = xp.reshape(added(parts), targets.shape)

    def pullback(dy):
        check_gradient(dy, targets.shape, x.dtype)
        dlosses = xp.reshape(dy, (n_row,))
        (dhead_scores,) = losses_pullback(dlosses)
        gradients = [head_pullback(dhead_scores)]
        for places, within_pullback, scores_pullback in pullbacks:
            (dscores,) = within_pullback(dlosses[places])
            dchosen, dcluster = scores_pullback(dscores)
            gradients.append((scatter_add(places, dchosen, n_row), dcluster))
        drows, dparams = _gathered(gradients)
        dx = xp.reshape(xp.where(ignored[:, None], 0.0, drows), x.shape)
        return dx, keyed_as(dparams, params)

    return y, pullback


def _scores(x, params, i):
    """Score the tokens of a cluster, and in the first one the other clusters beside them."""
    xp = array_namespace(x, params)
    own, others = scope(params, f"tables.{i}."), scope(params, "clusters.") if i == 0 else {}
    n_own = own["weight"].shape[0]
    projection = {key: xp.swapaxes(weight, 0, 1) for key, weight in scope(params, f"projections.{i}.").items()}
    narrow, narrow_pullback = project(x, projection)
    joined = {key: xp.concatenate([own[key], others[key]], axis=0) for key in own} if others else own
    y, linear_pullback = linear(narrow, joined)

    def pullback(dy):
        dnarrow, djoined = linear_pullback(dy)
        dx, dprojection = narrow_pullback(dnarrow)
        dparams = merge(
            add_prefix(f"tables.{i}.", {key: d[:n_own] for key, d in djoined.items()}),
            add_prefix(f"projections.{i}.", {key: xp.swapaxes(d, 0, 1) for key, d in dprojection.items()}),
            add_prefix("clusters.", {key: djoined[key][n_own:] for key in others}),
        )
        return dx, dparams

    return y, pullback


def _gathered(gradients):
    dxs, dparts = zip(*gradients, strict=True)
    return added(dxs), merge(*dparts)


def _check(x, params, cutoffs):
    check_floating(x=x, params=params)
    check_rank("x", x, 1)
    ends = ("weight", "bias") if "tables.0.bias" in params else ("weight",)
    biases = [f"tables.{i}.bias" for i in range(len(cutoffs) + 1)] if "bias" in ends else []
    clusters = [f"clusters.{end}" for end in ends] if cutoffs else []
    bounds, d_model = check_tables(params, cutoffs, others=[*biases, *clusters])
    for (start, end), key in zip(bounds, biases, strict=False):
        check_shape(key, params[key], (end - start,))
    check_shape("x", x, (*x.shape[:-1], d_model))
    for key in clusters:
        n_other = len(cutoffs)
        d_first = params["tables.0.weight"].shape[1]
        check_shape(key, params[key], (n_other, d_first) if key.endswith("weight") else (n_other,))
    return bounds
