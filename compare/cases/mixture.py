"""Mixtures of experts in torch, where every expert is asked about every token: how they are drawn and computed."""

import torch

from compare.cases.case import Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.feed_forward import TORCH_ACTIVATIONS

ACTIVATIONS = {**TORCH_ACTIVATIONS, "silu": torch.nn.functional.silu}


def shapes(n_expert, d_model, d_ff, *, gated=True, biased=False, noisy=False, d_shared=None, opened=True):
    """Shapes of the parameters of a mixture."""
    wide = ("gate_proj", "up_proj") if gated else ("linear1",)
    found = {"router.weight": (n_expert, d_model)}
    found |= {f"experts.{key}.weight": (n_expert, d_ff, d_model) for key in wide}
    found["experts.down_proj.weight" if gated else "experts.linear2.weight"] = (n_expert, d_model, d_ff)
    if biased:
        found |= {f"{key.removesuffix('weight')}bias": shape[:-1] for key, shape in found.items()}
    if noisy:
        found["router.noise.weight"] = (n_expert, d_model)
    if d_shared is not None:
        found |= {f"shared.network.{key}.weight": (d_shared, d_model) for key in ("gate_proj", "up_proj")}
        found["shared.network.down_proj.weight"] = (d_model, d_shared)
        found |= {"shared.opening.weight": (1, d_model)} if opened else {}
    return found


def inputs(generator, *, n_batch, n_seq, d_model, n_expert, d_ff, noise=False, **kinds):
    x = normal(generator, n_batch, n_seq, d_model)
    drawn = normal(generator, n_batch, n_seq, n_expert) if noise else None
    return Inputs((x, drawn, normal_params(generator, shapes(n_expert, d_model, d_ff, **kinds))))


def choice_inputs(generator, **sizes):
    x, _, params = inputs(generator, **sizes).args
    return Inputs((x, params))


def expert(x, params, e, activation):
    """One expert's opinion of every token."""
    linear, bend = torch.nn.functional.linear, ACTIVATIONS[activation]
    part = {key.removeprefix("experts."): value[e] for key, value in params.items() if key.startswith("experts.")}
    if "gate_proj.weight" in part:
        gate, up = (linear(x, part[f"{key}.weight"], part.get(f"{key}.bias")) for key in ("gate_proj", "up_proj"))
        return linear(bend(gate) * up, part["down_proj.weight"], part.get("down_proj.bias"))
    wide = bend(linear(x, part["linear1.weight"], part.get("linear1.bias")))
    return linear(wide, part["linear2.weight"], part.get("linear2.bias"))


def torch_logits(x, noise, params):
    logits = torch.nn.functional.linear(x, params["router.weight"], params.get("router.bias"))
    if noise is None:
        return logits
    scale = params.get("router.noise.weight")
    return logits + noise * (1.0 if scale is None else torch.nn.functional.softplus(x @ scale.T))


def torch_shared(x, params, activation):
    functional, bend = torch.nn.functional, ACTIVATIONS[activation]
    gate, up, down = (params[f"shared.network.{key}_proj.weight"] for key in ("gate", "up", "down"))
    fed = functional.linear(bend(functional.linear(x, gate)) * functional.linear(x, up), down)
    opening = params.get("shared.opening.weight")
    return fed if opening is None else torch.sigmoid(x @ opening.T) * fed


def torch_mixture(
    x, noise, params, *, n_chosen, softmax_over="chosen", capacity=None, activation="silu", gated=True
):  # fmt: skip
    logits = torch_logits(x, noise, params)
    chosen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(n_chosen).indices, True)
    probs = torch.softmax(logits, dim=-1)
    weights = torch.where(chosen, probs, 0.0)
    if softmax_over == "chosen":
        weights = weights / weights.sum(dim=-1, keepdim=True)
    taken = chosen if capacity is None else chosen & (chosen.cumsum(dim=1) <= capacity)
    weights = torch.where(taken, weights, 0.0)
    said = sum(weights[..., e, None] * expert(x, params, e, activation) for e in range(logits.shape[-1]))
    has_shared = any(key.startswith("shared.") for key in params)
    return said + torch_shared(x, params, activation) if has_shared else said, logits


def torch_choice(x, params, *, capacity, activation="silu", gated=True):
    logits = torch_logits(x, None, params)
    probs = torch.softmax(logits, dim=-1)
    taken = torch.zeros_like(probs, dtype=torch.bool).scatter(1, probs.topk(capacity, dim=1).indices, True)
    weights = torch.where(taken, probs, 0.0)
    return sum(weights[..., e, None] * expert(x, params, e, activation) for e in range(logits.shape[-1])), logits
