"""Attention in tiles, against the whole scores in PyTorch and against PyTorch's own tiles."""

import math

import torch

from compare.cases import scaling_study
from compare.cases.attention import inputs
from compare.cases.attention_weights import torch_scores
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from refimpl.attention.tiled import attention as tiled
from refimpl.attention.tiled.attention import tiled_attention


def torch_whole(q, k, v, bias=None, *, mask=None, causal=False, keep=None, rate=0.0, **settings):
    """All scores at once; tile sizes mean nothing here."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    scores = torch_scores(q, k, bias, scale=settings.get("scale"), softcap=settings.get("softcap"))
    allowed = torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query if causal else n_key)
    scores = scores.masked_fill(~(allowed if mask is None else allowed & mask), -math.inf)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    # A row without keys would have NaN gradients; it stands apart and gives 0 and minus infinity.
    some = scores.masked_fill(empty, 0.0)
    weights = torch.softmax(some, -1).masked_fill(empty, 0.0)
    dropped = weights if keep is None else weights * keep * (1.0 / (1.0 - rate))
    return dropped @ v, torch.logsumexp(some, -1).masked_fill(empty[..., 0], -math.inf)


def wrong_forward(old, new):
    return rewritten(tiled_attention, _attend=rewritten(tiled._attend, old, new))


def wrong_backward(old="", new="", **names):
    gradients = rewritten(tiled._tile_gradients, old, new, **names)
    return rewritten(tiled_attention, _retrace=rewritten(tiled._retrace, _tile_gradients=gradients))


def wrong_tile(old, new):
    """Wrong in the forward and in the backward alike."""
    tile = rewritten(tiled._tile, old, new)
    gradients = rewritten(tiled._tile_gradients, _tile=tile)
    return rewritten(
        tiled_attention,
        _attend=rewritten(tiled._attend, _tile=tile),
        _retrace=rewritten(tiled._retrace, _tile_gradients=gradients),
    )


BUGS = {
    "sum not rescaled": wrong_forward("rescaled * total", "total"),
    "output not rescaled": wrong_forward("rescaled * output", "output"),
    "maximum of the last tile only": wrong_forward("rivals = [highest, ", "rivals = ["),
    "log-sum-exp without the maximum": wrong_forward("_finite(xp, highest) + xp.log(some)", "xp.log(some)"),
    "log-sum-exp of base 2": wrong_forward("xp.log(some))", "xp.log(some) / math.log(2.0))"),
    "ragged last tile dropped": rewritten(
        tiled_attention, "tiles(n_key, tile_key)", "[c for c in tiles(n_key, tile_key) if c[1] - c[0] == tile_key]"
    ),
    "tile after the diagonal's attended": wrong_tile("right - 1 > top + scores.n_before", "False"),
    "tile on the diagonal skipped": rewritten(
        tiled_attention,
        _attend=rewritten(tiled._attend, _is_hidden=rewritten(tiled._is_hidden, "row[1] + scores", "row[0] + scores")),
    ),
    "diagonal off by one": wrong_tile("[:, None] + scores.n_before", "[:, None] + scores.n_before + 1"),
    "gradient without its row-sum term": rewritten(tiled_attention, "dlse - xp.sum(doutput * output, axis=-1)", "dlse"),
    "gradient of q without scale": wrong_backward(
        "dq = xp.matmul(dproducts, keys) * scores.factor", "dq = xp.matmul(dproducts, keys)"
    ),
    "gradient of q from the last tile only": rewritten(
        tiled_attention, _retrace=rewritten(tiled._retrace, "dq_part + dq_tile", "dq_tile")
    ),
    "gradient of k not transposed": wrong_backward(
        "dk = xp.matmul(xp.swapaxes(dproducts, -1, -2), queries)",
        "square = dproducts.shape[-1] == dproducts.shape[-2]; "
        "dk = xp.matmul(dproducts if square else xp.swapaxes(dproducts, -1, -2), queries)",
    ),
    "gradient of the softcap forgotten": wrong_backward("dtile if scores.softcap is None else", "dtile if True else"),
    "dropout in the log-sum-exp": wrong_forward("xp.sum(exps, axis", "xp.sum(_drop(exps, keep, scores.rate)[0], axis"),
    "dropout forgotten in the backward": wrong_backward(_drop=lambda weights, keep, rate: (weights, tiled._identity)),
    "gradient of the log-sum-exp forgotten": rewritten(
        tiled_attention, "dlse - xp.sum(doutput * output, axis=-1)", "-xp.sum(doutput * output, axis=-1)"
    ),
    "dropout not rescaled": wrong_forward(
        "_drop(exps, keep, scores.rate)[0]", "(exps if keep is None else exps * keep)"
    ),
    "gradient of a shared bias from the first tile only": rewritten(
        tiled_attention, _retrace=rewritten(tiled._retrace, joined=lambda parts, axis, size: parts[0])
    ),
}
SMALL = {"tile_query": 2, "tile_key": 3}
SQUARE = {"tile_query": 3, "tile_key": 3}

CASES = [
    Case(
        name="tiled_attention",
        section="attention",
        title="Attention in tiles (FlashAttention)",
        reference=tiled_attention,
        inputs=inputs,
        configs=(
            Config("ragged", {"lead": (2, 3), "n_query": 5, "n_key": 7, "d_head": 4, "d_value": 6}, SMALL),
            Config("one_tile", {"lead": (3,), "n_query": 4, "n_key": 6, "d_head": 5, "d_value": 2}, {"scale": 0.3}),
            Config(
                "causal", {"lead": (2,), "n_query": 6, "n_key": 9, "d_head": 3, "d_value": 4}, SMALL | {"causal": True}
            ),
            Config(
                "more_queries",
                {"lead": (2, 3), "n_query": 9, "n_key": 4, "d_head": 1, "d_value": 5},
                SMALL | {"causal": True},
            ),
            Config("one_key", {"lead": (2, 3), "n_query": 1, "n_key": 1, "d_head": 4, "d_value": 5}, SMALL),
            Config("no_key", {"lead": (2,), "n_query": 3, "n_key": 0, "d_head": 4, "d_value": 5}, SMALL),
            Config(
                "everything",
                {
                    "lead": (2, 3),
                    "n_query": 5,
                    "n_key": 8,
                    "d_head": 4,
                    "d_value": 6,
                    "scale": 2.0,
                    "bias": (3, 1, 8),
                    "mask": "padding",
                    "rate": 0.3,
                },
                SMALL | {"softcap": 2.0, "rate": 0.3, "causal": True},
            ),
            Config(
                "empty_rows",
                {"lead": (2, 3), "n_query": 6, "n_key": 7, "d_head": 3, "d_value": 4, "mask": "empty rows"},
                SMALL,
            ),
            Config("sharp", {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 16, "d_value": 3, "scale": 4.0}, SQUARE),
            Config("long", {"lead": (1, 2), "n_query": 300, "n_key": 500, "d_head": 8, "d_value": 8}, profile="full"),
        ),
        peers={"torch": torch_whole},
        bugs=BUGS,
        outputs=("output", "lse"),
        study=scaling_study.tiled_study,
    ),
]
