"""Cross-entropy against `torch.nn.functional.cross_entropy`."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.layers.cross_entropy import cross_entropy


def inputs(generator, *, shape, ignored=0.0, scale=2.0, ignore_index=-100):
    targets = generator.integers(0, shape[-1], shape[:-1])
    targets[generator.random(shape[:-1]) < ignored] = ignore_index
    targets.flat[0] = 1  # at least one counts: PyTorch's mean over none is NaN, ours is 0
    return Inputs((normal(generator, *shape, scale=scale), targets))


def torch_cross_entropy(logits, targets, *, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    # PyTorch wants the classes on axis 1.
    loss = torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        targets.reshape(-1),
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )
    return loss.reshape(targets.shape) if reduction == "none" else loss


CASES = [
    Case(
        name="cross_entropy",
        section="layers",
        title="Cross-entropy",
        reference=cross_entropy,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24)}),
            Config("rank3", {"shape": (2, 5, 16), "ignored": 0.4}),
            Config("rank4", {"shape": (2, 3, 4, 7), "ignored": 0.3}, {"label_smoothing": 0.1}),
            Config("sum", {"shape": (6, 9), "ignored": 0.3}, {"reduction": "sum", "label_smoothing": 0.2}),
            Config("none", {"shape": (3, 4, 11), "ignored": 0.3}, {"reduction": "none"}),
            Config("other_index", {"shape": (8, 5), "ignored": 0.5, "ignore_index": 0}, {"ignore_index": 0}),
            Config("confident", {"shape": (7, 13), "scale": 20.0}),
            Config("wide", {"shape": (64, 30522), "ignored": 0.1}, measured=True),
        ),
        peers={"torch": torch_cross_entropy},
        bugs={
            "ignored targets count in the mean": rewritten(
                cross_entropy, "max(int(xp.sum(~ignored, axis=0)), 1)", "n_target"
            ),
            "ignored targets have a gradient": rewritten(
                cross_entropy, "xp.where(ignored[:, None], 0.0, -q * dlosses[:, None])", "-q * dlosses[:, None]"
            ),
            "smoothing over the other classes only": rewritten(
                cross_entropy, "1.0 - label_smoothing + spread_evenly, spread", "1.0 - label_smoothing, spread"
            ),
            "gradient not divided by the count": rewritten(
                cross_entropy, '(n_target,) if reduction == "none" else (1,)) / divisor',
                '(n_target,) if reduction == "none" else (1,))',
            ),
        },
    )
]
