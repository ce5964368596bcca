"""Training, step by step: an iterator, so that whoever watches decides what to show and when to stop."""

from dataclasses import dataclass

from refimpl.training.adamw import Moments, adamw


@dataclass(frozen=True)
class Progress:
    """Where a training stands after a step.

    Attributes
    ----------
    step : int
        How many steps were taken.
    loss : float
        The loss of the batch, before the step.
    params : dict of (str, array)
        The parameters after it.
    """

    step: int
    loss: float
    params: dict


def train(loss_of, params, batches, *, rate, weight_decay=0.0, betas=(0.9, 0.95), decayed=None):
    """Train with AdamW.

    Parameters
    ----------
    loss_of : callable
        ``loss_of(*batch, params) -> (loss, gradients)``.
    params : dict of (str, array)
        Where to begin.
    batches : iterable of tuple
        One for every step.
    rate : callable
        ``rate(step) -> float``, the learning rate of step 0, 1, …
    weight_decay : float, optional
        As for `adamw`.
    betas : (float, float), optional
        As for `adamw`.
    decayed : container of str, optional
        As for `adamw`.

    Yields
    ------
    Progress
        After every step.
    """
    moments = Moments()
    for step, batch in enumerate(batches):
        loss, gradients = loss_of(*batch, params)
        params, moments = adamw(params, gradients, moments, learning_rate=rate(step), betas=betas,
                                weight_decay=weight_decay, decayed=decayed)  # fmt: skip
        yield Progress(step + 1, float(loss), params)
