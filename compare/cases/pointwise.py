"""ReLU, tanh, sigmoid, SiLU and the two GELUs against `torch.nn.functional`."""

import torch

from compare.cases.bug import rewritten, wrong_gradients
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.relu import relu
from refimpl.layers.sigmoid import sigmoid
from refimpl.layers.silu import silu
from refimpl.layers.tanh import tanh


def inputs(generator, *, shape, scale=1.0):
    return Inputs((normal(generator, *shape, scale=scale),))


def torch_gelu_tanh(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


CONFIGS = (
    Config("rank2", {"shape": (5, 24)}),
    Config("rank3", {"shape": (2, 5, 16), "scale": 3.0}),
    Config("rank4", {"shape": (2, 3, 4, 7), "scale": 0.01}),
    Config("wide", {"shape": (8, 128, 1536)}, measured=True),
)


def _case(name, title, reference, peer, bugs):
    return Case(
        name=name,
        section="layers",
        title=title,
        reference=reference,
        inputs=inputs,
        configs=CONFIGS,
        peers={"torch": peer},
        coarse_erf=("torch",) if reference is gelu else (),
        bugs=bugs,
    )


CASES = [
    _case(
        "relu",
        "ReLU",
        relu,
        torch.nn.functional.relu,
        {
            "gradient passes where it is off": rewritten(relu, "xp.where(off, 0.0, dy)", "dy"),
            "leaky": rewritten(relu, "xp.where(off, 0.0, x)", "xp.where(off, 0.01 * x, x)"),
        },
    ),
    _case(
        "tanh",
        "Hyperbolic tangent",
        tanh,
        torch.tanh,
        {
            "gradient of the input instead of the output": rewritten(tanh, "(1.0 - y * y)", "(1.0 - x * x)"),
            "gradient missing": wrong_gradients(tanh, lambda gradients: (gradients[0] * 0.0,)),
        },
    ),
    _case(
        "sigmoid",
        "Sigmoid",
        sigmoid,
        torch.sigmoid,
        {
            "gradient of the input instead of the output": rewritten(sigmoid, "y * (1.0 - y)", "x * (1.0 - x)"),
            "tanh instead": tanh,
        },
    ),
    _case(
        "silu",
        "SiLU (swish)",
        silu,
        torch.nn.functional.silu,
        {
            "gradient without its second term": rewritten(silu, "share * (1.0 + x * (1.0 - share))", "share"),
            "sigmoid of 1.702 x": rewritten(silu, "sigmoid(x)", "sigmoid(1.702 * x)"),
        },
    ),
    _case(
        "gelu",
        "GELU (erf)",
        gelu,
        torch.nn.functional.gelu,
        {
            "tanh for erf": gelu_tanh,
            "gradient without its density term": rewritten(gelu, "(below + x * density)", "below"),
            "sigmoid form": rewritten(
                gelu, "0.5 * (1.0 + erf(x * math.sqrt(0.5)))", "1.0 / (1.0 + xp.exp(-1.702 * x))"
            ),
        },
    ),
    _case(
        "gelu_tanh",
        "GELU (tanh)",
        gelu_tanh,
        torch_gelu_tanh,
        {
            "erf for tanh": gelu,
            "cubic term dropped": rewritten(gelu_tanh, "cubic * (x * x * x)", "0.0 * x"),
            "gradient of the cubic term not tripled": rewritten(gelu_tanh, "3.0 * cubic", "cubic"),
        },
    ),
]
