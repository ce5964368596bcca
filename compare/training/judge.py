"""Say whether the losses of two trainings are the same, step by step, but for rounding.

How far rounding may carry a training is measured on the training itself: legal second runs, which add the same
numbers up in another order, drift from the first one as any honest implementation does.  Their distance gives sigma
for every step; as everywhere in `compare`, more than 10 sigma is wrong.
"""

from dataclasses import dataclass

import numpy as np

from compare.verdict.spread_rule import LIMIT


@dataclass(frozen=True)
class Judgement:
    """How far the losses of a training are from ours.

    Attributes
    ----------
    sigma : numpy.ndarray, shape (n_step,)
        Standard deviation of a loss by rounding.
    in_sigma : numpy.ndarray, shape (n_step,)
        The distances in these units.
    passed : bool
        Whether none is beyond 10.
    """

    sigma: np.ndarray
    in_sigma: np.ndarray
    passed: bool


def judge_losses(ours, theirs, legal, dtype):
    """Judge the losses of a training.

    Parameters
    ----------
    ours : sequence of float
        Of the reference, step by step.
    theirs : sequence of float
        Of the training that is judged.
    legal : sequence of (sequence of float)
        Of legal second runs of the reference.
    dtype : {"float32", "float64"}
        What all of them compute in.

    Returns
    -------
    Judgement
        The judgement; a loss that is not finite, or is missing, fails.

    Raises
    ------
    ValueError
        If there are fewer than two legal runs.

    Notes
    -----
    Sigma is the root mean square distance of the legal runs, at its largest so far: rounding is carried on and never
    undone, even where curves happen to cross.  It is half a unit in the last place at least, for all of them may round
    alike.
    """
    if len(legal) < 2:
        raise ValueError(f"legal must be two runs at least, got {len(legal)}")
    ours, legal = np.asarray(ours), np.asarray(legal)
    drift = np.sqrt(np.mean((legal - ours) ** 2, axis=0))
    unit = 0.5 * np.spacing(np.abs(ours).astype(dtype)).astype(np.float64)
    sigma = np.maximum(np.maximum.accumulate(drift), unit)
    padded = np.full(len(ours), np.nan)
    padded[: len(theirs)] = list(theirs)[: len(ours)]
    distance = np.abs(padded - ours) / sigma
    in_sigma = np.where(np.isfinite(distance), distance, np.inf)
    return Judgement(sigma, in_sigma, bool(np.all(in_sigma <= LIMIT)) and len(theirs) == len(ours))
