"""The mixtures of experts of `transformers`, called with our parameters."""

from functools import cache

import torch

from compare.peers.float64_throughout import throughout


def transformers_mixture(
    x, noise, params, *, n_chosen, softmax_over="chosen", capacity=None, activation="silu", gated=True
):  # fmt: skip
    """Run the block whose conventions the settings are: Mixtral's, Qwen2Moe's or that of Switch.

    Parameters
    ----------
    x : torch.Tensor, shape (n_batch, n_seq, d_model)
        Tokens.
    noise : None
        They have none.
    params : dict of (str, torch.Tensor)
        Ours; a shared expert makes it Qwen2Moe's, experts without gates that of Switch.
    n_chosen : int
        How many experts a token goes to.
    softmax_over : {"all", "chosen"}, optional
        Where the weights sum to 1.
    capacity : int, optional
        How many tokens of a sequence an expert of Switch takes.
    activation : str, optional
        Of the experts.
    gated : bool, optional
        Whether the experts are gated.

    Returns
    -------
    tuple of torch.Tensor
        What the block returns, and the logits of its router.
    """
    n_expert, d_model = params["router.weight"].shape
    settings = {"n_expert": n_expert, "d_model": d_model, "activation": activation, "n_chosen": n_chosen}
    if not gated:
        block, theirs = _switch(**settings, d_ff=_width(params, "linear1"), capacity=capacity), _of_switch(params)
    elif any(key.startswith("shared.") for key in params):
        sizes = {"d_ff": _width(params, "gate_proj"), "d_shared": len(params["shared.network.gate_proj.weight"])}
        block = _qwen2_moe(**settings, **sizes, renormalised=softmax_over == "chosen")
        theirs = {**_fused(params), **_of_shared(params)}
    else:
        block, theirs = _mixtral(**settings, d_ff=_width(params, "gate_proj")), _fused(params)
    with throughout(x.dtype):
        y = torch.func.functional_call(block, theirs, (x,))
    return y, torch.nn.functional.linear(x, params["router.weight"])


@cache
def _mixtral(*, n_expert, n_chosen, d_model, d_ff, activation):
    from transformers.models.mixtral import MixtralConfig, modeling_mixtral

    sizes = {"hidden_size": d_model, "intermediate_size": d_ff, "hidden_act": activation}
    experts = {"num_local_experts": n_expert, "num_experts_per_tok": n_chosen, "experts_implementation": "eager"}
    with torch.device("meta"):
        return modeling_mixtral.MixtralSparseMoeBlock(MixtralConfig(**sizes, **experts)).eval()


@cache
def _qwen2_moe(*, n_expert, n_chosen, d_model, d_ff, d_shared, activation, renormalised):
    from transformers.models.qwen2_moe import Qwen2MoeConfig, modeling_qwen2_moe

    sizes = {"hidden_size": d_model, "moe_intermediate_size": d_ff, "shared_expert_intermediate_size": d_shared}
    experts = {"num_experts": n_expert, "num_experts_per_tok": n_chosen, "norm_topk_prob": renormalised}
    settings = {"hidden_act": activation, "experts_implementation": "eager"}
    with torch.device("meta"):
        return modeling_qwen2_moe.Qwen2MoeSparseMoeBlock(Qwen2MoeConfig(**sizes, **experts, **settings)).eval()


@cache
def _switch(*, n_expert, n_chosen, d_model, d_ff, activation, capacity):
    from transformers.models.switch_transformers import SwitchTransformersConfig, modeling_switch_transformers

    if n_chosen != 1:
        raise ValueError(f"n_chosen must be 1 in Switch, got {n_chosen}")
    sizes = {"d_model": d_model, "d_ff": d_ff, "num_experts": n_expert, "expert_capacity": capacity}
    config = SwitchTransformersConfig(**sizes, dense_act_fn=activation, feed_forward_proj=activation)
    with torch.device("meta"):
        return modeling_switch_transformers.SwitchTransformersSparseMLP(config).eval()


def _width(params, key):
    return params[f"experts.{key}.weight"].shape[1]


def _fused(params):
    gate, up, down = (params[f"experts.{key}_proj.weight"] for key in ("gate", "up", "down"))
    fused = {"experts.gate_up_proj": torch.cat([gate, up], dim=1), "experts.down_proj": down}
    return {"gate.weight": params["router.weight"], **fused}


def _of_shared(params):
    network = "shared.network."
    shared = {f"shared_expert.{key.removeprefix(network)}": x for key, x in params.items() if key.startswith(network)}
    return {**shared, "shared_expert_gate.weight": params["shared.opening.weight"]}


def _of_switch(params):
    names = {"wi": "experts.linear1.weight", "wo": "experts.linear2.weight"}
    experts = {
        f"experts.expert_{e}.{theirs}.weight": x for theirs, ours in names.items() for e, x in enumerate(params[ours])
    }
    return {"router.classifier.weight": params["router.weight"], **experts}
