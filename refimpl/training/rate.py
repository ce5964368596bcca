"""Learning rates that change from step to step."""

import math

from refimpl.arrays import integer, number


def warm_up_cosine(step, *, n_step, n_warm_up, highest, lowest=0.0):
    """Rise in a straight line, then fall along half a cosine.

    Parameters
    ----------
    step : int
        Which step this is, from 0.
    n_step : int
        How many steps there are; the last one has the lowest rate.
    n_warm_up : int
        How many of them rise; the first of them has a rate already.
    highest, lowest : float
        The rates at the top and at the end.

    Returns
    -------
    float
        The learning rate.

    Raises
    ------
    ValueError
        If there are fewer steps than those that rise.

    References
    ----------
    Loshchilov, Hutter (2016), "SGDR", arXiv:1608.03983, eq. 5, without restarts.
    """
    integer("n_warm_up", n_warm_up, at_least=0, below=n_step)
    number("highest", highest, at_least=0.0)
    if step < n_warm_up:
        return highest * (step + 1) / n_warm_up
    done = (step - n_warm_up) / max(n_step - 1 - n_warm_up, 1)
    return lowest + (highest - lowest) * (1.0 + math.cos(math.pi * min(done, 1.0))) / 2.0
