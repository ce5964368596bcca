"""Learned positions made longer, against PyTorch's mean, repeat and interpolate."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.positions.extension import _places, extend_by_interpolation, extend_by_mean, extend_by_tiling


def inputs(generator, *, n_learned, d_model):
    return Inputs((normal(generator, n_learned, d_model),))


def torch_mean(weight, *, n_position):
    return torch.cat([weight, weight.mean(0, keepdim=True).expand(n_position - weight.shape[0], -1)])


def torch_tiling(weight, *, n_position):
    n_learned = weight.shape[0]
    return weight.repeat(-(-n_position // n_learned), 1)[:n_position]


def torch_interpolation(weight, *, n_position, align="ends"):
    wide = weight.to(torch.promote_types(weight.dtype, torch.float32))  # PyTorch has no 16-bit kernel on the CPU
    stretched = torch.nn.functional.interpolate(
        wide.T[None], size=n_position, mode="linear", align_corners=align == "ends"
    )
    return stretched[0].T.to(weight.dtype)


def _case(name, title, reference, peer, bugs, configs):
    return Case(
        name=name, section="positions", title=title, reference=reference, inputs=inputs, configs=configs,
        peers={"torch": peer}, bugs=bugs,
    )  # fmt: skip


SIZES = {"n_learned": 5, "d_model": 6}
CONFIGS = (
    Config("longer", SIZES, {"n_position": 13}),
    Config("same", {"n_learned": 4, "d_model": 7}, {"n_position": 4}),
    Config("one", {"n_learned": 1, "d_model": 3}, {"n_position": 4}),
    Config("twice", {"n_learned": 31, "d_model": 5}, {"n_position": 62}, "full"),
    Config("many", {"n_learned": 60, "d_model": 3}, {"n_position": 1000}, "full"),
    Config("wide", {"n_learned": 512, "d_model": 768}, {"n_position": 4096}, measured=True),
)
CASES = [
    _case(
        "extend_by_mean",
        "Learned positions extended by their mean",
        extend_by_mean,
        torch_mean,
        {
            "gradient of the new rows not shared out": rewritten(extend_by_mean, "dmean / n_learned", "dmean"),
            "gradient of the new rows lost": rewritten(extend_by_mean, "dmean / n_learned", "0.0 * dmean"),
            "last row instead of the mean": rewritten(
                extend_by_mean, "xp.mean(weight, axis=0, keepdims=True)", "weight[-1:]"
            ),
        },
        CONFIGS,
    ),
    _case(
        "extend_by_tiling",
        "Learned positions extended by tiling",
        extend_by_tiling,
        torch_tiling,
        {
            "mirrored": rewritten(
                extend_by_tiling, "[i % n_learned for i in", "[min(i, abs(2 * n_learned - 1 - i)) % n_learned for i in"
            ),
            "gradient of the first tile only": rewritten(
                extend_by_tiling, "scatter_add(rows, dy, n_learned)", "dy[:n_learned] * 1.0"
            ),
        },
        CONFIGS,
    ),
    _case(
        "extend_by_interpolation",
        "Learned positions extended by interpolation",
        extend_by_interpolation,
        torch_interpolation,
        {
            "the other alignment": rewritten(
                extend_by_interpolation,
                _places=lambda n, m, align: _places(n, m, "cells" if align == "ends" else "ends"),
            ),
            "nearest neighbour": rewritten(
                extend_by_interpolation, "cast(beyond, weight.dtype)", "cast(xp.floor(beyond + 0.5), weight.dtype)"
            ),
            "gradient of one neighbour": rewritten(
                extend_by_interpolation, "dbelow + scatter_add(above, dy * share, n_learned)", "dbelow"
            ),
            "shares swapped": rewritten(
                extend_by_interpolation,
                "weight[below] * (1.0 - share) + weight[above] * share",
                "weight[above] * (1.0 - share) + weight[below] * share",
            ),
        },
        (*CONFIGS, Config("cells", SIZES, {"n_position": 13, "align": "cells"})),
    ),
]
