"""Layer normalisation against `torch.nn.functional.layer_norm`."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from refimpl.layers.layer_norm import layer_norm


def inputs(generator, *, shape, scale=1.0, offset=0.0, keys=("weight", "bias")):
    params = normal_params(generator, {f"norm.{key}": shape[-1:] for key in keys})
    x = offset + normal(generator, *shape, scale=scale)
    return Inputs((x, {key.removeprefix("norm."): value for key, value in params.items()}))


def torch_layer_norm(x, params, *, eps=1e-5):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], params.get("weight"), params.get("bias"), eps)


CASES = [
    Case(
        name="layer_norm",
        section="layers",
        title="Layer normalisation",
        reference=layer_norm,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24)}),
            Config("rank3", {"shape": (3, 5, 16)}, {"eps": 1e-12}),
            Config("rank4", {"shape": (2, 3, 4, 7)}),
            Config("no_bias", {"shape": (4, 9), "keys": ("weight",)}),
            Config("bare", {"shape": (4, 9), "keys": ()}),
            Config("offset", {"shape": (6, 33), "offset": 3.0, "scale": 0.5}, {"eps": 1e-3}),
            Config("wide", {"shape": (8, 128, 384)}, measured=True),
        ),
        peers={"torch": torch_layer_norm},
        # PyTorch 2.13 on the CPU adds up the gradients of weight, bias in the dtype of the input (3,000 ones gave 512
        # in bfloat16), and stores mean and inverse standard deviation in it (`torch.native_layer_norm` returns them).
        sums_in_storage=("torch",),
        bugs={
            "unbiased variance": rewritten(
                layer_norm,
                "variance = xp.mean(centred * centred, axis=-1, keepdims=True)",
                "variance = xp.sum(centred * centred, axis=-1, keepdims=True) / (x.shape[-1] - 1)",
            ),
            "eps outside the root": rewritten(
                layer_norm, "1.0 / xp.sqrt(variance + eps)", "1.0 / (xp.sqrt(variance) + eps)"
            ),
            "gradient without its mean term": rewritten(layer_norm, "g - along_one - x_hat", "g - x_hat"),
            "gradient without its x_hat term": rewritten(layer_norm, " - x_hat * along_x_hat", ""),
        },
    )
]
