"""Softmax, log-softmax and log-sum-exp against `torch.softmax`, `torch.log_softmax` and `torch.logsumexp`."""

import math

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.layers.softmax import log_softmax, logsumexp, softmax


def inputs(generator, *, shape, scale=1.0, masked=0.0):
    x = normal(generator, *shape, scale=scale)
    if not masked:
        return Inputs((x,))
    mask = generator.random(shape) >= masked
    mask[..., 0, :] = False  # a row in which nothing takes part
    return Inputs((x,), {"mask": mask})


def torch_softmax(x, *, mask=None, axis=-1):
    if mask is None:
        return torch.softmax(x, axis)
    weights = torch.softmax(x.masked_fill(~mask, -math.inf), axis)
    # PyTorch gives NaN where nothing takes part; we say 0.
    return torch.where(mask.any(axis, keepdim=True), weights, torch.zeros_like(weights))


def torch_log_softmax(x, *, axis=-1):
    return torch.log_softmax(x, axis)


def torch_logsumexp(x, *, axis=-1):
    return torch.logsumexp(x, axis)


CASES = [
    Case(
        name="softmax",
        section="layers",
        title="Softmax",
        reference=softmax,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24)}),
            Config("rank3", {"shape": (2, 5, 16), "scale": 4.0}),
            Config("rank4", {"shape": (2, 3, 4, 7), "scale": 0.1}),
            Config("masked", {"shape": (3, 6, 9), "masked": 0.4}),
            Config("first_axis", {"shape": (6, 5, 3)}, {"axis": 0}),
            Config("one_entry", {"shape": (4, 1)}),
            Config("sharp", {"shape": (4, 33), "scale": 30.0}),
            Config("wide", {"shape": (12, 256, 512)}, measured=True),
        ),
        peers={"torch": torch_softmax},
        bugs={
            "gradient without its row-sum term": rewritten(softmax, "(dy - along_weights)", "dy"),
            "masked after the softmax": rewritten(
                softmax, "y = exps / xp.where(total == 0.0, 1.0, total)",
                "y = xp.exp(x - _highest(xp, x, axis)); y = y / xp.sum(y, axis=axis, keepdims=True); "
                "y = y if mask is None else xp.where(mask, y, 0.0)",
            ),
            "over the other axis": rewritten(
                softmax, "    xp = array_namespace", "    axis = -1 - axis % x.ndim; xp = array_namespace"
            ),
            "off by 0.1 %": rewritten(softmax, "xp.exp(scores", "xp.exp(1.001 * scores"),
        },
    ),
    Case(
        name="log_softmax",
        section="layers",
        title="Log-softmax",
        reference=log_softmax,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24)}),
            Config("rank3", {"shape": (2, 5, 16), "scale": 4.0}),
            Config("rank4", {"shape": (2, 3, 4, 7), "scale": 0.1}),
            Config("first_axis", {"shape": (6, 5, 3)}, {"axis": 0}),
            Config("one_entry", {"shape": (4, 1)}),
            Config("wide", {"shape": (64, 30522)}, measured=True),
        ),
        peers={"torch": torch_log_softmax},
        bugs={
            "gradient without its row-sum term": rewritten(
                log_softmax, "dy - xp.exp(y) * xp.sum(dy, axis=axis, keepdims=True)", "dy"
            ),
            "base 2": rewritten(log_softmax, "xp.log(xp.where(empty, 1.0, total))", "xp.log(total) / math.log(2.0)"),
        },
    ),
    Case(
        name="logsumexp",
        section="layers",
        title="Log-sum-exp",
        reference=logsumexp,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24)}),
            # PyTorch gives exp(x - y): half a unit in the last place of y is |y| units of the gradient.  From 16 on
            # honest gradients would leave the tolerance.
            Config("rank3", {"shape": (2, 5, 16), "scale": 2.0}),
            Config("first_axis", {"shape": (6, 5, 3), "scale": 2.0}, {"axis": 0}),
            Config("wide", {"shape": (64, 30522)}, measured=True),
        ),
        peers={"torch": torch_logsumexp},
        bugs={
            "gradient not normalised": rewritten(logsumexp, "(exps / divisor)", "exps"),
            "maximum not added back": rewritten(logsumexp, "xp.log(divisor) + shift", "xp.log(divisor)"),
            "mean instead of sum": rewritten(logsumexp, "xp.sum(exps", "xp.mean(exps"),
        },
    ),
]
