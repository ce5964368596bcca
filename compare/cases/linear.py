"""Linear map against `torch.nn.functional.linear`."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from refimpl.layers.linear import linear


def inputs(generator, *, shape, d_out, bias=True, scale=1.0):
    shapes = {"weight": (d_out, shape[-1])} | ({"bias": (d_out,)} if bias else {})
    return Inputs((normal(generator, *shape, scale=scale), normal_params(generator, shapes)))


def torch_linear(x, params):
    return torch.nn.functional.linear(x, params["weight"], params.get("bias"))


CASES = [
    Case(
        name="linear",
        section="layers",
        title="Linear map",
        reference=linear,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24), "d_out": 7}),
            Config("rank3", {"shape": (2, 5, 16), "d_out": 33}),
            Config("rank4", {"shape": (2, 3, 4, 9), "d_out": 6}),
            Config("vector", {"shape": (12,), "d_out": 5}),
            Config("no_bias", {"shape": (3, 4, 11), "d_out": 2, "bias": False}),
            Config("one_to_one", {"shape": (6, 1), "d_out": 1}),
            Config("long_sum", {"shape": (3, 3000), "d_out": 4, "scale": 10.0}, profile="full"),
            Config("wide", {"shape": (8, 128, 384), "d_out": 1536}, measured=True),
        ),
        peers={"torch": torch_linear},
        bugs={
            "bias gradient from the first row only": rewritten(
                linear, '"bias": xp.sum(dmapped, axis=0)', '"bias": dmapped[0]'
            ),
            "weight gradient of the first row only": rewritten(
                linear, "xp.swapaxes(dmapped, 0, 1), rows", "xp.swapaxes(dmapped[:1], 0, 1), rows[:1]"
            ),
            "bias subtracted": rewritten(linear, 'mapped + params["bias"]', 'mapped - params["bias"]'),
            "off by 0.1 %": rewritten(linear, "xp.swapaxes(weight, 0, 1))", "xp.swapaxes(weight, 0, 1)) * 1.001"),
        },
    )
]
