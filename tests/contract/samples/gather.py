"""Weighted sums of values: a correct sample with masks, an absent array, a helper, loops and a generator."""

import math
from dataclasses import dataclass

from refimpl.arrays import array_namespace, check_setting, check_shape, sum_to

KINDS = ("sum", "mean")


@dataclass(frozen=True)
class GatherConfig:
    """Settings."""

    kind: str = "sum"


def gather(weights, values, bias=None, *, mask=None, kind="sum", n_step=1):
    """Sum values up, weighted, several times over.

    Parameters
    ----------
    weights : array, shape (n_query, n_key)
        Weights.
    values : array, shape (n_key, d_value)
        Values.
    bias : array, broadcasts to (n_query, d_value), optional
        Added to the sums.
    mask : array of bool, shape (n_query, n_key), optional
        True where a value counts.
    kind : {"sum", "mean"}, optional
        What to gather.
    n_step : int, optional
        How often.

    Returns
    -------
    y : array, shape (n_query, d_value)
        The sums.
    pullback : callable
        Maps dy to ``(dweights, dvalues)``, or ``(dweights, dvalues, dbias)`` when there is a bias.
    """
    xp = array_namespace(weights, values, bias, mask)
    check_setting("kind", kind, kind in KINDS, "sum or mean")
    check_shape("values", values, (weights.shape[-1], None))
    half_heads = values.shape[-1] // 2
    if half_heads < 1:
        raise ValueError(f"values must have two columns, got {values.shape[-1]}")
    allowed = _blank(xp, weights, mask)
    n_counted = max(int(xp.sum(allowed > 0.0, axis=0)[0]), 1)
    divisor = float(n_counted) if kind == "mean" else math.sqrt(1.0)

    sums = []
    for step in range(n_step):
        sums.append(xp.matmul(allowed, values) / (divisor + step))
    total = xp.sum(xp.stack(sums, axis=0), axis=0)
    y = total if bias is None else total + bias

    def pullback(dy):
        share = math.fsum(1.0 / (divisor + step) for step in range(n_step))
        dvalues = xp.matmul(xp.swapaxes(allowed, 0, 1), dy) * share
        dweights = _blank(xp, xp.matmul(dy, xp.swapaxes(values, 0, 1)) * share, mask)
        return (dweights, dvalues) if bias is None else (dweights, dvalues, sum_to(dy, bias.shape))

    return y, pullback


def keep_mask(generator, shape, *, rate):
    """Draw a mask.

    Parameters
    ----------
    generator : numpy.random.Generator
        The source of randomness.
    shape : tuple of int
        The shape of the mask.
    rate : float
        The probability of dropping an entry.

    Returns
    -------
    array of bool
        The mask.
    """
    return generator.random(shape) >= rate


def _blank(xp, x, mask):
    return x if mask is None else xp.where(mask, x, 0.0)
