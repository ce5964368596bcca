"""Dropout against PyTorch with the same mask."""

from compare.cases.bug import rewritten, wrong_gradients
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.layers.dropout import dropout, keep_mask


def inputs(generator, *, shape, rate):
    return Inputs((normal(generator, *shape),), {"keep": keep_mask(generator, shape, rate=rate)})


def torch_dropout(x, *, keep, rate):
    # `torch.nn.functional.dropout` draws its own mask; multiplying by a given one is the same arithmetic.
    return x * keep * (1.0 / (1.0 - rate) if rate < 1.0 else 0.0)


CASES = [
    Case(
        name="dropout",
        section="layers",
        title="Dropout",
        reference=dropout,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24), "rate": 0.1}, {"rate": 0.1}),
            Config("rank3", {"shape": (2, 5, 16), "rate": 0.5}, {"rate": 0.5}),
            Config("rank4", {"shape": (2, 3, 4, 7), "rate": 0.9}, {"rate": 0.9}),
            Config("nothing", {"shape": (3, 8), "rate": 0.0}, {"rate": 0.0}),
            Config("everything", {"shape": (3, 8), "rate": 1.0}, {"rate": 1.0}),
            Config("wide", {"shape": (8, 128, 1536), "rate": 0.1}, {"rate": 0.1}, measured=True),
        ),
        peers={"torch": torch_dropout},
        bugs={
            "not rescaled": rewritten(dropout, "1.0 / (1.0 - rate) if rate < 1.0 else 0.0", "1.0"),
            "mask inverted": rewritten(
                dropout, "y = xp.where(keep, x * scale, 0.0)", "y = xp.where(keep, 0.0, x * scale)"
            ),
            "mask redrawn in the backward": rewritten(
                dropout, "dx = xp.where(keep, dy * scale, 0.0)", "dx = xp.where(keep[::-1], dy * scale, 0.0)"
            ),
            "gradient not rescaled": wrong_gradients(dropout, lambda gradients: (gradients[0] * 0.7,)),
        },
    )
]
