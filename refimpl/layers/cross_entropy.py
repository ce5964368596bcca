"""Cross-entropy of logits against class ids, with label smoothing (Szegedy et al. 2016, arXiv:1512.00567)."""

import math

from refimpl.arrays import array_namespace, check_floating, check_ids, check_rank, check_setting, check_shape
from refimpl.layers.softmax import log_softmax

REDUCTIONS = ("mean", "sum", "none")


def cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
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
    PyTorch puts the classes on axis 1, and gives NaN for a mean over no targets.

    References
    ----------
    Szegedy et al. (2016), "Rethinking the Inception Architecture", arXiv:1512.00567, section 7.
    """
    xp = array_namespace(logits, targets)
    check_floating(logits=logits)
    check_rank("logits", logits, 1)
    check_shape("targets", targets, logits.shape[:-1])
    check_setting("label_smoothing", label_smoothing, 0.0 <= label_smoothing <= 1.0, "in [0, 1]")
    check_setting("reduction", reduction, reduction in REDUCTIONS, f"one of {', '.join(REDUCTIONS)}")
    n_class, n_target = logits.shape[-1], math.prod(targets.shape)

    flat_targets = xp.reshape(targets, (n_target,))
    ignored = flat_targets == ignore_index
    classes = xp.where(ignored, 0, flat_targets)
    check_ids("targets", classes, n_class)

    # Ignored rows may hold anything, NaN too.
    counted = xp.where(ignored[:, None], 0.0, xp.reshape(logits, (n_target, n_class)))
    log_probs, log_softmax_pullback = log_softmax(counted)  # (n_target, n_class)
    # A share of 0 has no say: 0 times a log-probability of -inf would be NaN.
    share = 1.0 - label_smoothing
    of_target = share * log_probs[xp.arange(n_target), classes] if share else 0.0
    of_all = label_smoothing * xp.mean(log_probs, axis=-1) if label_smoothing else 0.0
    losses = xp.where(ignored, 0.0, -(of_target + of_all))  # (n_target,)

    n_counted = max(int(xp.sum(~ignored, axis=0)), 1)
    divisor = float(n_counted) if reduction == "mean" else 1.0
    y = xp.reshape(losses, targets.shape) if reduction == "none" else xp.sum(losses, axis=0) / divisor

    def pullback(dy):
        dlosses = xp.reshape(dy, (n_target,) if reduction == "none" else (1,)) / divisor
        spread_evenly = label_smoothing / n_class
        is_target = classes[:, None] == xp.arange(n_class)  # (n_target, n_class)
        # The smoothed distribution q, each row of which sums to 1; the loss is minus its inner product with log p.
        q = xp.where(is_target, 1.0 - label_smoothing + spread_evenly, spread_evenly + xp.zeros_like(log_probs))
        (dcounted,) = log_softmax_pullback(-q * dlosses[:, None])
        dlogits = xp.where(ignored[:, None], 0.0, dcounted)
        return (xp.reshape(dlogits, logits.shape),)

    return y, pullback
