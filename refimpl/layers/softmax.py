"""Softmax, its logarithm, and log-sum-exp, shifted by the maximum so that nothing overflows."""

import math

from refimpl.arrays import (
    array_namespace,
    check_boolean,
    check_broadcastable,
    check_floating,
    check_gradient,
    check_rank,
    integer,
)


def softmax(x, *, mask=None, axis=-1):
    """Turn scores into weights that are positive and sum to 1.

    Parameters
    ----------
    x : array, shape (...)
        Scores; minus infinity means weight 0.
    mask : array of bool, broadcasts to the shape of `x`, optional
        True where an entry takes part.  Masked entries have weight 0 and gradient 0, whatever they hold.
    axis : int, optional
        The axis that sums to 1.

    Returns
    -------
    y : array, shape (...)
        ``exp(x) / sum(exp(x))``; all 0 where no entry takes part.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    ValueError
        If the mask does not broadcast to the shape of `x`, or `x` has no such axis.
    TypeError
        If `x` is not floating or the mask not boolean.

    Notes
    -----
    `torch.softmax` gives NaN for a row of minus infinities; here such a row is 0, with gradient 0.
    """
    xp = array_namespace(x, mask)
    check_floating(x=x)
    check_boolean(mask=mask)
    _check_axis(x, axis)
    if mask is not None:
        check_broadcastable("mask", mask, x.shape)

    scores = x if mask is None else xp.where(mask, x, -math.inf)
    exps = xp.exp(scores - _highest(xp, scores, axis))
    total = xp.sum(exps, axis=axis, keepdims=True)
    y = exps / xp.where(total == 0.0, 1.0, total)

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        # The weights sum to 1, so a gradient that lifts all of them alike moves nothing.
        along_weights = xp.sum(dy * y, axis=axis, keepdims=True)
        dx = y * (dy - along_weights)
        return (dx,)

    return y, pullback


def log_softmax(x, *, axis=-1):
    """Logarithm of the softmax, without computing the softmax.

    Parameters
    ----------
    x : array, shape (...)
        Scores.
    axis : int, optional
        The axis over which the weights sum to 1.

    Returns
    -------
    y : array, shape (...)
        ``x - log(sum(exp(x)))``; minus infinity along an axis of minus infinities.
    pullback : callable
        Maps dy to ``(dx,)``; 0 along an axis of minus infinities.

    Raises
    ------
    ValueError
        If `x` has no such axis.
    TypeError
        If `x` is not floating.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    _check_axis(x, axis)

    shifted = x - _highest(xp, x, axis)
    total = xp.sum(xp.exp(shifted), axis=axis, keepdims=True)
    empty = total == 0.0
    y = shifted - xp.log(xp.where(empty, 1.0, total))

    def pullback(dy):
        check_gradient(dy, y.shape, y.dtype)
        dx = dy - xp.exp(y) * xp.sum(dy, axis=axis, keepdims=True)
        return (xp.where(empty, 0.0, dx),)

    return y, pullback


def logsumexp(x, *, axis=-1):
    """Sum exponentials without overflow and take the logarithm.

    Parameters
    ----------
    x : array, shape (...)
        Any numbers; minus infinity counts as a term of 0.
    axis : int, optional
        The axis that is summed.

    Returns
    -------
    y : array, shape (...) without the axis
        ``log(sum(exp(x)))``; minus infinity along an axis of minus infinities, or of nothing.
    pullback : callable
        Maps dy to ``(dx,)``: dy, shared out by the softmax; 0 along an axis of minus infinities.

    Raises
    ------
    ValueError
        If `x` has no such axis.
    TypeError
        If `x` is not floating.

    Notes
    -----
    The gradient of `torch.logsumexp` along an axis of minus infinities is 0, too.
    """
    xp = array_namespace(x)
    check_floating(x=x)
    _check_axis(x, axis)

    shift = _highest(xp, x, axis)
    exps = xp.exp(x - shift)
    total = xp.sum(exps, axis=axis, keepdims=True)
    empty = total == 0.0
    divisor = xp.where(empty, 1.0, total)
    y = xp.squeeze(xp.where(empty, -math.inf, xp.log(divisor) + shift), axis=axis)
    shape = y.shape

    def pullback(dy):
        check_gradient(dy, shape, exps.dtype)
        dx = xp.expand_dims(dy, axis=axis) * (exps / divisor)
        return (dx,)

    return y, pullback


def _check_axis(x, axis):
    check_rank("x", x, 1)
    integer("axis", axis, at_least=-x.ndim, below=x.ndim)


def _highest(xp, x, axis):
    # The maximum of nothing, or of minus infinities, shifts nothing: -inf - -inf would be NaN.  Infinity - infinity is
    # NaN, and spreads to the whole axis as it should: what overflowed has no softmax.
    if x.shape[axis] == 0:
        return 0.0
    highest = xp.max(x, axis=axis, keepdims=True)
    return xp.where(highest == -math.inf, 0.0, highest)
