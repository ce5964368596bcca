"""Losses that keep a router from sending all tokens to the same experts, and its logits from growing."""

import math

from refimpl.arrays import (
    array_namespace,
    check_boolean,
    check_floating,
    check_gradient,
    check_rank,
    check_shape,
)
from refimpl.blocks.mixture.largest import largest
from refimpl.layers.softmax import logsumexp, softmax


def load_balance_loss(logits, *, n_chosen, is_token=None):
    """Measure how unevenly the experts are used: 1 for each expert that a token goes to if all are used alike.

    Parameters
    ----------
    logits : array, shape (..., n_expert)
        What the router of a layer says.  A model has the mean over its layers; where they are stacked instead, one
        layer may make up for another.
    n_chosen : int
        How many experts a token goes to.
    is_token : array of bool, shape (...), optional
        False for padding, which does not count.

    Returns
    -------
    y : array, shape ()
        ``n_expert * sum(f * p)``: f is the share of tokens that go to an expert, p its mean probability.
    pullback : callable
        Maps dy to ``(dlogits,)``; f, which counts, has no gradient.

    Raises
    ------
    ValueError
        If a shape or a setting does not fit.
    TypeError
        If the logits are not floating or `is_token` is not boolean.

    References
    ----------
    Fedus, Zoph, Shazeer (2021), "Switch Transformers", arXiv:2101.03961, eq. 4 to 6.
    """
    xp = array_namespace(logits, is_token)
    rows, counted = _rows(logits, is_token)
    n_token, n_expert = _count(counted), logits.shape[-1]
    probs, softmax_pullback = softmax(rows)
    chosen = largest(rows, n_chosen) & counted
    share = xp.sum(xp.where(chosen, 1.0, xp.zeros_like(rows)), axis=0) / n_token  # (n_expert,)
    mean_prob = xp.sum(xp.where(counted, probs, 0.0), axis=0) / n_token
    y = n_expert * xp.sum(share * mean_prob, axis=0)

    def pullback(dy):
        check_gradient(dy, (), share.dtype)
        dprobs = xp.where(counted, dy * (n_expert / n_token) * share + xp.zeros_like(rows), 0.0)
        (drows,) = softmax_pullback(dprobs)
        return (xp.reshape(drows, logits.shape),)

    return y, pullback


def router_z_loss(logits, *, is_token=None):
    """Measure how large the logits of a router are, by the mean square of their log-sum-exp.

    Parameters
    ----------
    logits : array, shape (..., n_expert)
        What routers say.
    is_token : array of bool, shape (...), optional
        False for padding, which does not count.

    Returns
    -------
    y : array, shape ()
        ``mean(logsumexp(logits)²)``.
    pullback : callable
        Maps dy to ``(dlogits,)``.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If the logits are not floating or `is_token` is not boolean.

    References
    ----------
    Zoph et al. (2022), "ST-MoE", arXiv:2202.08906, eq. 5.
    """
    xp = array_namespace(logits, is_token)
    rows, counted = _rows(logits, is_token)
    n_token = _count(counted)
    z, z_pullback = logsumexp(rows)
    kept = xp.where(counted[:, 0], z, 0.0)
    y = xp.sum(kept * kept, axis=0) / n_token

    def pullback(dy):
        check_gradient(dy, (), kept.dtype)
        (drows,) = z_pullback(dy * (2.0 / n_token) * kept)
        return (xp.reshape(drows, logits.shape),)

    return y, pullback


def _rows(logits, is_token):
    """Lay the tokens out one under the other, and mark those that count; what padding holds is forgotten."""
    xp = array_namespace(logits, is_token)
    check_floating(logits=logits)
    check_rank("logits", logits, 1)
    n_row, n_expert = math.prod(logits.shape[:-1]), logits.shape[-1]
    rows = xp.reshape(logits, (n_row, n_expert))
    if is_token is None:
        return rows, xp.ones((n_row, 1), dtype=xp.bool_)
    check_boolean(is_token=is_token)
    check_shape("is_token", is_token, logits.shape[:-1])
    counted = xp.reshape(is_token, (n_row, 1))
    return xp.where(counted, rows, 0.0), counted


def _count(counted):
    """Count the tokens; where there are none, nothing is divided by 1."""
    xp = array_namespace(counted)
    return float(max(int(xp.sum(counted.astype(xp.int64), axis=(0, 1))), 1))
