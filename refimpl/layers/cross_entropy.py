"""Cross-entropy of logits against class ids, with label smoothing (Szegedy et al. 2016, arXiv:1512.00567)."""

import math

from refimpl.arrays import (
    array_namespace,
    cast,
    check_choice,
    check_floating,
    check_gradient,
    check_ids,
    check_integers,
    check_rank,
    check_setting,
    check_shape,
    integer,
    number,
    table_dtype,
)
from refimpl.layers.softmax import log_softmax, logsumexp

REDUCTIONS = ("mean", "sum", "none")


def cross_entropy(
    logits, targets, *, ignore_index=-100, label_smoothing=0.0, class_weight=None, z_loss=0.0, reduction="mean"
):
    """Measure how surprising the targets are under the softmax of the logits, in nats.

    Parameters
    ----------
    logits : array, shape (..., n_class)
        Scores of the classes.
    targets : array of int, shape (...)
        The right class, in [0, n_class), or `ignore_index`.
    ignore_index : int, optional
        Targets of this value have loss 0 and gradient 0, whatever their logits are, and do not count in the mean.
    label_smoothing : float, optional
        The share of the target's probability that is spread evenly over all classes, in [0, 1].
    class_weight : sequence of float, optional
        How much every class counts, in the losses and in the mean, which is then a weighted one.
    z_loss : float, optional
        Adds this times the squared log-sum-exp of the logits, which keeps them from drifting (1e-4 in PaLM).
    reduction : {"mean", "sum", "none"}, optional
        What to do with the losses of the targets.

    Returns
    -------
    y : array, shape () or, for ``"none"``, (...)
        The loss.  The mean over no targets at all is 0.
    pullback : callable
        Maps dy, of the shape of y, to ``(dlogits,)``.

    Raises
    ------
    ValueError
        If a shape, a target or a setting does not fit.
    TypeError
        If the logits are not floating or the targets not integers.

    Notes
    -----
    PyTorch puts the classes on axis 1, and gives NaN for a mean over no targets.  As in PyTorch, smoothing weighs the
    log-probability of every class by the weight of that class, and the mean divides by the weights of the targets.
    The z-loss of a target counts as much as its class does.

    References
    ----------
    Szegedy et al. (2016), "Rethinking the Inception Architecture", arXiv:1512.00567, section 7.
    Chowdhery et al. (2022), "PaLM", arXiv:2204.02311, section 5 (the z-loss).
    """
    xp = array_namespace(logits, targets)
    _check(logits, targets, ignore_index, class_weight, reduction)
    smoothing = number("label_smoothing", label_smoothing, at_least=0.0, at_most=1.0)
    z_factor = number("z_loss", z_loss, at_least=0.0)
    n_class, n_target = logits.shape[-1], math.prod(targets.shape)

    flat_targets = xp.reshape(targets, (n_target,))
    ignored = flat_targets == ignore_index
    classes = xp.where(ignored, 0, flat_targets)
    check_ids("targets", classes, n_class)

    # Ignored rows may hold anything, NaN too.
    rows = xp.where(ignored[:, None], 0.0, xp.reshape(logits, (n_target, n_class)))
    log_probs, log_softmax_pullback = log_softmax(rows)
    weight = None if class_weight is None else _weights(logits, class_weight)
    # What has no share and what has no weight has no say: 0 times a log-probability of -inf would be NaN.
    weighed = log_probs if weight is None else xp.where(weight > 0.0, log_probs, 0.0) * weight
    share = 1.0 - smoothing
    of_target = share * weighed[xp.arange(n_target), classes] if share else 0.0
    of_all = smoothing * xp.mean(weighed, axis=-1) if smoothing else 0.0
    z, z_pullback = logsumexp(rows) if z_factor else (0.0, None)
    penalty = _times(z_factor * (z * z), weight, classes) if z_factor else 0.0
    losses = xp.where(ignored, 0.0, penalty - (of_target + of_all))  # (n_target,)
    divisor = _n_counted(ignored, weight, classes) if reduction == "mean" else 1.0
    y = xp.reshape(losses, targets.shape) if reduction == "none" else xp.sum(losses, axis=0) / divisor

    def pullback(dy):
        check_gradient(dy, targets.shape if reduction == "none" else (), logits.dtype)
        dlosses = xp.reshape(dy, (n_target,) if reduction == "none" else (1,)) / divisor
        spread_evenly = smoothing / n_class
        is_target = classes[:, None] == xp.arange(n_class)  # (n_target, n_class)
        # The smoothed distribution q, each row of which sums to 1; the loss is minus its inner product with log p.
        q = xp.where(is_target, 1.0 - smoothing + spread_evenly, spread_evenly + xp.zeros_like(log_probs))
        weighed_q = q if weight is None else q * weight
        (drows,) = log_softmax_pullback(-weighed_q * dlosses[:, None])
        if z_factor:
            (drows_z,) = z_pullback(_times(2.0 * z_factor * z * dlosses, weight, classes))
            drows = drows + drows_z
        dlogits = xp.where(ignored[:, None], 0.0, drows)
        return (xp.reshape(dlogits, logits.shape),)

    return y, pullback


def _weights(logits, class_weight):
    xp = array_namespace(logits)
    return cast(xp.asarray([*class_weight], dtype=table_dtype(logits)), logits.dtype)  # (n_class,)


def _times(losses, weight, classes):
    return losses if weight is None else losses * weight[classes]


def _n_counted(ignored, weight, classes):
    xp = array_namespace(ignored, weight, classes)
    if weight is None:
        return float(max(int(xp.sum(~ignored, axis=0)), 1))
    total = xp.sum(xp.where(ignored, 0.0, weight[classes]), axis=0)
    return xp.where(total == 0.0, 1.0, total)


def _check(logits, targets, ignore_index, class_weight, reduction):
    check_floating(logits=logits)
    check_rank("logits", logits, 1)
    check_integers("targets", targets)
    check_shape("targets", targets, logits.shape[:-1])
    integer("ignore_index", ignore_index)
    check_choice("reduction", reduction, REDUCTIONS)
    if class_weight is not None:
        n_class = logits.shape[-1]
        fits = len(class_weight) == n_class and all(weight >= 0.0 for weight in class_weight)
        check_setting("class_weight", class_weight, fits, f"{n_class} numbers, one for each class, none negative")
