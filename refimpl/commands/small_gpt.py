"""A small GPT-2 to be trained here: what it is, how it begins, what it is trained on."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from refimpl.arrays import asarray
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.gpt.names import gpt_rows
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.heads import gpt_lm
from refimpl.training.rate import warm_up_cosine
from refimpl.training.run import train
from refimpl.training.window_loss import window_loss
from refimpl.training.windows import windows

HELD_OUT = 0.1
DEVIATION = 0.02  # of the weights of GPT-2


@dataclass(frozen=True)
class Plan:
    """Everything that decides how a training goes.

    Attributes
    ----------
    config : GptConfig
        The model.
    n_step : int
        How many steps.
    n_batch : int
        Windows in a step.
    n_seq : int
        Tokens in a window.
    learning_rate : float
        At its highest.
    weight_decay : float
        Of matrices; biases and norms do not shrink.
    seed : int
        Of the parameters and of the windows.
    dtype : {"float32", "float64"}
        What is computed in.
    """

    config: GptConfig
    n_step: int
    n_batch: int
    n_seq: int
    learning_rate: float
    weight_decay: float = 0.1
    seed: int = 0
    dtype: str = "float32"

    def rate(self, step):
        """Give the learning rate of a step.

        Parameters
        ----------
        step : int
            Which, from 0.

        Returns
        -------
        float
            The rate: it rises for a twentieth of the steps, then falls to a tenth.
        """
        top = self.learning_rate
        return warm_up_cosine(step, n_step=self.n_step, n_warm_up=self.n_step // 20, highest=top, lowest=top / 10)


def first_params(plan):
    """Draw parameters as GPT-2 begins.

    Parameters
    ----------
    plan : Plan
        The model and the seed.

    Returns
    -------
    dict of (str, numpy.ndarray)
        Normal weights of deviation 0.02, smaller by the root of the number of residual branches where they end one;
        biases of 0; norms of 1.

    References
    ----------
    Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3.
    """
    generator = np.random.default_rng([plan.seed, 0])
    params = {}
    for row in gpt_rows(plan.config):
        if row.group != "backbone":
            continue
        shape, branches = row.our_shape, 2 * plan.config.n_layer
        ends_branch = row.ours.endswith(("out_proj.weight", "linear2.weight"))
        if len(shape) == 2:
            drawn = generator.normal(0.0, DEVIATION / (math.sqrt(branches) if ends_branch else 1.0), shape)
        else:
            drawn = np.full(shape, 1.0 if row.ours.endswith("weight") else 0.0)
        params[row.ours] = drawn.astype(plan.dtype)
    return params


def split(token_ids):
    """Hold the last tenth of a text out.

    Parameters
    ----------
    token_ids : array of int, shape (n_token,)
        The text.

    Returns
    -------
    trained_on, held_out : array of int
        Its two parts.
    """
    n = token_ids.shape[0] - int(HELD_OUT * token_ids.shape[0])
    return token_ids[:n], token_ids[n:]


def check_length(plan, token_ids):
    """Require that a text has a window, and the token after it.

    Parameters
    ----------
    plan : Plan
        Says how long a window is.
    token_ids : array of int, shape (n_token,)
        The text.

    Raises
    ------
    CheckpointError
        If it is too short.
    """
    if token_ids.shape[0] <= plan.n_seq:
        raise CheckpointError(f"the text must be longer than a window of {plan.n_seq} tokens, "
                              f"got {token_ids.shape[0]}")  # fmt: skip


def batches(plan, token_ids):
    """Draw the batches of a training; the same seed gives the same ones.

    Parameters
    ----------
    plan : Plan
        Sizes, number of steps and seed.
    token_ids : array of int, shape (n_token,)
        The text.

    Yields
    ------
    inputs, targets : array of int, shape (n_batch, n_seq)
        As `windows` gives them.
    """
    check_length(plan, token_ids)
    generator = np.random.default_rng([plan.seed, 1])
    for _ in range(plan.n_step):
        yield windows(token_ids, n_batch=plan.n_batch, n_seq=plan.n_seq, generator=generator)


def training(plan, token_ids, params=None, drawn=None):
    """Train.

    Parameters
    ----------
    plan : Plan
        How.
    token_ids : array of int, shape (n_token,)
        On what.
    params : dict of (str, array), optional
        Where to begin; by default `first_params`.
    drawn : iterable of tuple, optional
        The batches; by default those of `batches`.

    Returns
    -------
    iterator of Progress
        After every step.
    """
    params = first_params(plan) if params is None else params
    params = {key: asarray(x, like=token_ids, dtype=x.dtype) for key, x in params.items()}
    loss_of = partial(window_loss, partial(gpt_lm, config=plan.config))
    matrices = {key for key, x in params.items() if x.ndim == 2}
    drawn = batches(plan, token_ids) if drawn is None else drawn
    return train(loss_of, params, drawn, rate=plan.rate, weight_decay=plan.weight_decay, decayed=matrices)


def held_out_loss(plan, params, token_ids, *, n_window=64):
    """Measure the loss on text that was not trained on.

    Parameters
    ----------
    plan : Plan
        The model.
    params : dict of (str, array)
        Its parameters.
    token_ids : array of int, shape (n_token,)
        The text.
    n_window : int, optional
        How many windows at most, evenly spaced.

    Returns
    -------
    float
        The mean over their tokens, in nats; NaN if there is not one token and the next.
    """
    if token_ids.shape[0] < 2:
        return math.nan
    n_seq = min(plan.n_seq, token_ids.shape[0] - 1)
    starts = np.unique(np.linspace(0, token_ids.shape[0] - 1 - n_seq, n_window).astype(int)).tolist()
    losses = []
    for first in range(0, len(starts), plan.n_batch):
        chunk = starts[first : first + plan.n_batch]
        places = asarray([list(range(start, start + n_seq)) for start in chunk], like=token_ids)
        logits, _ = gpt_lm(token_ids[places], params, config=plan.config)
        losses += [float(cross_entropy(logits, token_ids[places + 1])[0])] * len(chunk)
    return math.fsum(losses) / len(losses)
