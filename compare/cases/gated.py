"""Gated linear units against `torch.nn.functional.glu`, and the gated network against Llama's."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.torch_peer import call_module
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.layers.gated import gated

TORCH_ACTIVATIONS = {"silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh}


def inputs(generator, *, shape, scale=1.0):
    return Inputs((normal(generator, *shape, scale=scale),))


def torch_gated(x, *, activation="sigmoid", gate="first"):
    first, second = x.chunk(2, -1)
    opening, value = (first, second) if gate == "first" else (second, first)
    if activation == "sigmoid":
        return torch.nn.functional.glu(torch.cat([value, opening], -1), -1)
    return TORCH_ACTIVATIONS[activation](opening) * value


def network_inputs(generator, *, shape, d_ff, biased=False):
    d_model = shape[-1]
    shapes = {"gate_proj": (d_ff, d_model), "up_proj": (d_ff, d_model), "down_proj": (d_model, d_ff)}
    weights = {f"{part}.weight": sizes for part, sizes in shapes.items()}
    biases = {f"{part}.bias": sizes[:1] for part, sizes in shapes.items()} if biased else {}
    return Inputs((normal(generator, *shape), normal_params(generator, {**weights, **biases})))


def llama_mlp(x, params, *, activation="silu"):
    from transformers import LlamaConfig  # takes seconds to import
    from transformers.models.llama.modeling_llama import LlamaMLP

    d_ff, d_model = params["gate_proj.weight"].shape
    name = "gelu_pytorch_tanh" if activation == "gelu_tanh" else activation
    biased = "gate_proj.bias" in params
    sizes = {"hidden_size": d_model, "intermediate_size": d_ff, "num_attention_heads": 1}
    with torch.device("meta"):
        module = LlamaMLP(LlamaConfig(**sizes, hidden_act=name, mlp_bias=biased))
    return call_module(module, params, x)


CASES = [
    Case(
        name="gated",
        section="layers",
        title="Gated linear units (GLU, SwiGLU, GeGLU)",
        reference=gated,
        inputs=inputs,
        configs=(
            Config("glu", {"shape": (5, 24)}, {"gate": "second"}),
            Config("swiglu", {"shape": (2, 5, 16), "scale": 3.0}, {"activation": "silu"}),
            Config("geglu", {"shape": (2, 3, 4, 6)}, {"activation": "gelu"}),
            *(
                Config(
                    f"{activation}_{gate}",
                    {"shape": (7, 5, 34), "scale": 5.0},
                    {"activation": activation, "gate": gate},
                    profile="full",
                )
                for activation in ("sigmoid", *TORCH_ACTIVATIONS)
                for gate in ("first", "second")
            ),
            Config("wide", {"shape": (8, 128, 1536)}, {"activation": "silu"}, measured=True),
        ),
        peers={"torch": torch_gated},
        bugs={
            "halves swapped": rewritten(
                gated, 'if gate == "first" else (second, first)', 'if gate != "first" else (second, first)'
            ),
            "gradient in the other order": rewritten(
                gated, '[dopening, dvalue] if gate == "first"', '[dvalue, dopening] if gate == "first"'
            ),
            "value not opened in the gradient": rewritten(gated, "dy * opened", "dy"),
            "gate not multiplied in the gradient": rewritten(
                gated, "activation_pullback(dy * value)", "activation_pullback(dy)"
            ),
        },
    ),
    Case(
        name="gated_feed_forward",
        section="blocks",
        title="Gated feed-forward network (Llama)",
        reference=gated_feed_forward,
        inputs=network_inputs,
        configs=(
            Config("swiglu", {"shape": (2, 5, 8), "d_ff": 12}),
            Config("geglu", {"shape": (6, 10), "d_ff": 7, "biased": True}, {"activation": "gelu_tanh"}),
            *(
                Config(name, {"shape": (3, 4, 32), "d_ff": 80, "biased": True}, {"activation": name}, "full")
                for name in ("relu", "gelu", "sigmoid", "tanh")
            ),
            Config("wide", {"shape": (4, 128, 256), "d_ff": 688}, measured=True),
        ),
        peers={"transformers": llama_mlp},
        bugs={
            "gate and up swapped": rewritten(
                gated_feed_forward, "activation_named(activation)(gate)", "activation_named(activation)(up)"
            ),
            "gradient of the gate without the up branch": rewritten(
                gated_feed_forward, "activation_pullback(dhidden * up)", "activation_pullback(dhidden)"
            ),
            "gradient of one branch only": rewritten(gated_feed_forward, "dx_gate + dx_up", "dx_gate"),
            "gradients of gate and up swapped": rewritten(
                gated_feed_forward, "(dgate_proj, dup_proj, ddown)", "(dup_proj, dgate_proj, ddown)"
            ),
        },
    ),
]
