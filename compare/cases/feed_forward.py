"""The position-wise feed-forward network, against the same layers in PyTorch."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.gelu import gelu_tanh

TORCH_ACTIVATIONS = {
    "relu": torch.nn.functional.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": torch.nn.GELU(approximate="tanh"),
    "tanh": torch.tanh,
}


def feed_shapes(d_model, d_ff, *, biased=True):
    """Shapes of the parameters, as `torch.nn.TransformerEncoderLayer` names them."""
    weights = {"linear1.weight": (d_ff, d_model), "linear2.weight": (d_model, d_ff)}
    return {**weights, **({"linear1.bias": (d_ff,), "linear2.bias": (d_model,)} if biased else {})}


def inputs(generator, *, lead, d_model, d_ff, scale=1.0, biased=True):
    x = normal(generator, *lead, d_model, scale=scale)
    return Inputs((x, normal_params(generator, feed_shapes(d_model, d_ff, biased=biased))))


def torch_feed_forward(x, params, *, activation="relu"):
    linear = torch.nn.functional.linear
    wide = linear(x, params["linear1.weight"], params.get("linear1.bias"))
    return linear(TORCH_ACTIVATIONS[activation](wide), params["linear2.weight"], params.get("linear2.bias"))


def always(activation):
    """Look up one activation whatever the name: for a variant that bends by the wrong one."""
    return lambda name: activation


CASES = [
    Case(
        name="feed_forward",
        section="blocks",
        title="Feed-forward network",
        reference=feed_forward,
        inputs=inputs,
        configs=(
            Config("rank2", {"lead": (4,), "d_model": 6, "d_ff": 9}),
            Config("rank3", {"lead": (2, 5), "d_model": 7, "d_ff": 12}, {"activation": "gelu"}),
            Config("rank4", {"lead": (2, 3, 4), "d_model": 5, "d_ff": 8}, {"activation": "gelu_tanh"}),
            Config("unbiased", {"lead": (3, 4), "d_model": 5, "d_ff": 7, "biased": False}, {"activation": "tanh"}),
            Config("large", {"lead": (6,), "d_model": 8, "d_ff": 5, "scale": 20.0}),
            Config("wide", {"lead": (1, 128), "d_model": 384, "d_ff": 1536}, {"activation": "gelu"}, measured=True),
        ),
        peers={"torch": torch_feed_forward},
        coarse_erf=("torch",),
        bugs={
            "tanh GELU for erf GELU": rewritten(feed_forward, activation_named=always(gelu_tanh)),
            "activation missing in the backward": rewritten(
                feed_forward, "(dwide,) = bend_pullback(dbent)", "dwide = dbent"
            ),
            "activation before the first layer": rewritten(
                feed_forward, "project(x, scope", "project(bend(x)[0], scope"
            ),
            "second layer not activated": rewritten(feed_forward, "project(bent, scope", "project(wide, scope"),
        },
    )
]
