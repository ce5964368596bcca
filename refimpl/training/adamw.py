"""AdamW (Loshchilov, Hutter 2017, arXiv:1711.05101, algorithm 2)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from refimpl.arrays import array_namespace, check_setting, number


@dataclass(frozen=True)
class Moments:
    """What AdamW remembers of the gradients.

    Attributes
    ----------
    n_step : int
        How many steps were taken.
    first : dict of (str, array)
        Running means of the gradients, by parameter.
    second : dict of (str, array)
        Running means of their squares.
    """

    n_step: int = 0
    first: Mapping = field(default_factory=dict)
    second: Mapping = field(default_factory=dict)


def adamw(
    params, gradients, moments, *, learning_rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, decayed=None
):
    """Take one step downhill, about as long for every parameter, and shrink the parameters apart from that.

    Parameters
    ----------
    params : dict of (str, array)
        The parameters.
    gradients : dict of (str, array)
        Their gradients.
    moments : Moments
        What earlier steps have left; ``Moments()`` before the first.
    learning_rate : float
        The length of the step.
    betas : (float, float), optional
        How much of the running means stays in each step, in [0, 1).
    eps : float, optional
        Added to the root of the second moment.
    weight_decay : float, optional
        The share of a parameter, in units of the learning rate, that is lost in each step.
    decayed : container of str, optional
        The parameters that shrink; by default all.

    Returns
    -------
    params : dict of (str, array)
        The new parameters; the old ones are as they were.
    moments : Moments
        What to hand to the next step.

    Raises
    ------
    ValueError
        If the gradients belong to other parameters, or a setting is out of range.

    Notes
    -----
    As in PyTorch, the decay comes first, and ``eps`` is added after the bias is corrected.  The decay is no part of
    the gradient, as it is in Adam with an L2 term: there it would be divided by the root of the second moment.
    """
    array_namespace(params, gradients)
    check_setting("gradients", sorted(gradients), gradients.keys() == params.keys(), "those of the parameters")
    learning_rate = number("learning_rate", learning_rate, at_least=0.0)
    beta1, beta2 = (number("betas", beta, at_least=0.0, at_most=1.0) for beta in betas)
    check_setting("betas", betas, max(beta1, beta2) < 1.0, "below 1")
    n_step = moments.n_step + 1
    debias1, debias2 = 1.0 - beta1**n_step, math.sqrt(1.0 - beta2**n_step)
    moved, first, second = {}, {}, {}
    for key, param in params.items():
        xp, gradient = array_namespace(param), gradients[key]
        first[key] = beta1 * moments.first.get(key, 0.0) + (1.0 - beta1) * gradient
        second[key] = beta2 * moments.second.get(key, 0.0) + (1.0 - beta2) * gradient * gradient
        kept = 1.0 - learning_rate * weight_decay if decayed is None or key in decayed else 1.0
        # The step is about learning_rate long: the mean gradient over the root of its mean square.
        moved[key] = kept * param - learning_rate / debias1 * first[key] / (xp.sqrt(second[key]) / debias2 + eps)
    return moved, Moments(n_step, first, second)
