"""The losses of routers, against `transformers` and torch."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from compare.peers.float64_throughout import Float64Throughout
from refimpl.blocks.mixture.losses import load_balance_loss, router_z_loss


def inputs(generator, *, shape, padded=False):
    logits = normal(generator, *shape, scale=2.0)
    return Inputs((logits,), {"is_token": generator.random(shape[:-1]) < 0.7} if padded else {})


def transformers_balance(logits, *, n_chosen, is_token=None):
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func  # takes seconds to import

    n_expert = logits.shape[-1]
    mask = None if is_token is None else is_token.reshape(-1)
    rows = (logits.reshape(-1, n_expert),)
    if logits.dtype == torch.float64:
        with Float64Throughout():
            return load_balancing_loss_func(rows, n_expert, n_chosen, mask)
    return load_balancing_loss_func(rows, n_expert, n_chosen, mask)


def torch_z_loss(logits, *, is_token=None):
    squares = torch.logsumexp(logits, dim=-1).square()
    return squares.mean() if is_token is None else squares[is_token].mean()


CONFIGS = {
    # First, for without a mask the losses do not know in which order tokens and experts come.
    "padded": {"shape": (3, 6, 3), "padded": True},
    "tokens": {"shape": (2, 5, 4)},
    "layers": {"shape": (2, 3, 4, 5)},
}

CASES = [
    Case(
        name="load_balance_loss",
        section="blocks",
        title="Load-balance loss",
        reference=load_balance_loss,
        inputs=inputs,
        configs=tuple(Config(name, sizes, {"n_chosen": 2}) for name, sizes in CONFIGS.items()),
        peers={"transformers": transformers_balance},
        dtypes=("float64", "float32"),
        bugs={
            "padding counts": rewritten(load_balance_loss, "_rows(logits, is_token)", "_rows(logits, None)"),
            "one expert is counted": rewritten(load_balance_loss, "largest(rows, n_chosen)", "largest(rows, 1)"),
            "number of experts forgotten": rewritten(load_balance_loss, "n_expert * xp.sum", "xp.sum"),
            "gradient without the softmax": rewritten(load_balance_loss, "softmax_pullback(dprobs)", "(dprobs,)"),
            "gradient summed": rewritten(load_balance_loss, "(n_expert / n_token)", "n_expert"),
        },
    ),
    Case(
        name="router_z_loss",
        section="blocks",
        title="Router z-loss",
        reference=router_z_loss,
        inputs=inputs,
        configs=tuple(Config(name, sizes) for name, sizes in CONFIGS.items()),
        peers={"torch": torch_z_loss},
        dtypes=("float64", "float32"),
        bugs={
            "padding counts": rewritten(router_z_loss, "_rows(logits, is_token)", "_rows(logits, None)"),
            "not squared": rewritten(router_z_loss, "xp.sum(kept * kept,", "xp.sum(kept,"),
            "gradient without its 2": rewritten(router_z_loss, "(2.0 / n_token)", "(1.0 / n_token)"),
            "gradient of the square forgotten": rewritten(router_z_loss, " * kept)", " * (1.0 + 0.0 * kept))"),
        },
    ),
]
