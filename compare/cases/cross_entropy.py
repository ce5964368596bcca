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


def torch_cross_entropy(
    logits, targets, *, ignore_index=-100, label_smoothing=0.0, class_weight=None, z_loss=0.0, reduction="mean"
):
    # PyTorch wants the classes on axis 1.
    flat_logits, flat_targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    weight = None if class_weight is None else torch.tensor(class_weight, dtype=logits.dtype, device=logits.device)
    loss = torch.nn.functional.cross_entropy(
        flat_logits,
        flat_targets,
        weight=weight,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
    )
    if z_loss:
        counted = flat_targets != ignore_index
        share = counted.to(logits.dtype) if weight is None else weight[flat_targets.where(counted, 0)] * counted
        penalty = z_loss * torch.logsumexp(flat_logits, -1).square() * share
        loss = loss + {"mean": penalty.sum() / share.sum(), "sum": penalty.sum(), "none": penalty}[reduction]
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
            Config(
                "weighted",
                {"shape": (9, 5), "ignored": 0.2},
                {"class_weight": (0.2, 1.0, 3.0, 0.0, 0.7), "label_smoothing": 0.1},
            ),
            Config("z_loss", {"shape": (3, 4, 6), "ignored": 0.3}, {"z_loss": 0.01}),
            Config(
                "weighted_z_loss",
                {"shape": (8, 3), "ignored": 0.2},
                {"class_weight": (0.2, 1.0, 3.0), "z_loss": 0.02, "reduction": "none"},
            ),
            *(
                Config(
                    f"all_{reduction}",
                    {"shape": (4, 6, 5), "ignored": 0.3, "scale": 5.0},
                    {"class_weight": (0.2, 1.0, 3.0, 0.1, 0.7), "label_smoothing": 0.2, "z_loss": 1e-3,
                     "reduction": reduction},
                    profile="full",
                )
                for reduction in ("mean", "sum", "none")
            ),
            Config("confident", {"shape": (7, 13), "scale": 20.0}),
            Config("wide", {"shape": (64, 30522), "ignored": 0.1}, measured=True),
        ),
        peers={"torch": torch_cross_entropy},
        bugs={
            "ignored targets count in the mean": rewritten(
                cross_entropy, "_n_counted(ignored, weight", "_n_counted(ignored & ~ignored, weight"
            ),
            "ignored targets have a gradient": rewritten(
                cross_entropy, "dlogits = xp.where(ignored[:, None], 0.0, drows)", "dlogits = drows"
            ),
            "smoothing over the other classes only": rewritten(
                cross_entropy, "1.0 - smoothing + spread_evenly, spread", "1.0 - smoothing, spread"
            ),
            "mean over targets instead of their weights": rewritten(
                cross_entropy, "_n_counted(ignored, weight, classes)", "_n_counted(ignored, None, classes)"
            ),
            "smoothing not weighed by class": rewritten(
                cross_entropy,
                "q if weight is None else q * weight",
                "q if weight is None else q * weight[classes][:, None]",
            ),
            "gradient of the z-loss halved": rewritten(cross_entropy, "2.0 * z_factor * z", "z_factor * z"),
            "z-loss of ignored targets": rewritten(
                cross_entropy, "xp.where(ignored, 0.0, penalty - (of_target + of_all))",
                "penalty + xp.where(ignored, 0.0, -(of_target + of_all))",
            ),
            "gradient not divided by the count": rewritten(
                cross_entropy, '(n_target,) if reduction == "none" else (1,)) / divisor',
                '(n_target,) if reduction == "none" else (1,))',
            ),
        },
    )
]
