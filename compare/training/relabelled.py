"""Legal second runs: the same training with its features and the rows of its batches in another order.

Nothing changes but the order in which numbers are added up, so the losses differ by rounding alone, and by what
becomes of it in the steps that follow.
"""

import numpy as np

from refimpl.commands.small_gpt import batches, first_params, training

# Which axes of a parameter run over the features of the hidden states ("m") and of the feed-forward layer ("f").
AXES = {
    "token.weight": ".m", "position.weight": ".m", "norm1.weight": "m", "norm1.bias": "m", "norm2.weight": "m",
    "norm2.bias": "m", "norm.weight": "m", "norm.bias": "m", "self_attn.in_proj_weight": ".m",
    "self_attn.in_proj_bias": ".", "self_attn.out_proj.weight": "m.", "self_attn.out_proj.bias": "m",
    "linear1.weight": "fm", "linear1.bias": "f", "linear2.weight": "mf", "linear2.bias": "m",
}  # fmt: skip


def relabelled_params(params, orders):
    """Put the features of a GPT in another order.

    Parameters
    ----------
    params : dict of (str, numpy.ndarray)
        Its parameters.
    orders : dict of (str, numpy.ndarray of int)
        The new order of the axes ``"m"`` and ``"f"``.

    Returns
    -------
    dict of (str, numpy.ndarray)
        Parameters of the same function.
    """
    relabelled = {}
    for key, x in params.items():
        for axis, kind in enumerate(AXES[key.split(".", 2)[2] if key.startswith("layers.") else key]):
            x = x if kind == "." else np.take(x, orders[kind], axis=axis)
        relabelled[key] = np.ascontiguousarray(x)
    return relabelled


def relabelled_losses(plan, token_ids, seed):
    """Train once more, in another order.

    Parameters
    ----------
    plan : refimpl.commands.small_gpt.Plan
        How.
    token_ids : numpy.ndarray of int, shape (n_token,)
        On what.
    seed : int
        Of the orders.

    Yields
    ------
    float
        The loss of every step.
    """
    generator = np.random.default_rng([plan.seed, 2, seed])
    orders = {"m": generator.permutation(plan.config.d_model), "f": generator.permutation(plan.config.d_ff)}
    params = relabelled_params(first_params(plan), orders)
    rows = generator.permutation(plan.n_batch)
    shuffled = ((inputs[rows], targets[rows]) for inputs, targets in batches(plan, token_ids))
    yield from (progress.loss for progress in training(plan, token_ids, params, shuffled))

