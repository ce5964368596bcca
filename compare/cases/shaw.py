"""Attention with Shaw's relative positions against its definition, pair by pair, in PyTorch."""

import math

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.relative.shaw import _relative_rows, shaw_attention


def inputs(generator, *, lead, n_query, n_key, d_head, d_value, max_distance, values=True, mask=None):
    q, k = (normal(generator, *lead, n, d_head) for n in (n_query, n_key))
    v = normal(generator, *lead, n_key, d_value)
    params = {"relative_key.weight": normal(generator, 2 * max_distance + 1, d_head)}
    if values:
        params["relative_value.weight"] = normal(generator, 2 * max_distance + 1, d_value)
    return Inputs((q, k, v, params), {} if mask is None else {"mask": draw_mask(generator, mask, lead, n_query, n_key)})


def torch_shaw(q, k, v, params, *, mask=None, scale=None):
    n_query, n_key = q.shape[-2], k.shape[-2]
    reach = params["relative_key.weight"].shape[0] // 2
    rows = torch.tensor(
        [[max(-reach, min(reach, j - (i + n_key - n_query))) + reach for j in range(n_key)] for i in range(n_query)]
    )
    # Every pair has a key and a value of its own.
    keys = k[..., None, :, :] + params["relative_key.weight"][rows]  # (..., n_query, n_key, d_head)
    scores = (q[..., None, :] * keys).sum(-1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)
    values = v[..., None, :, :].expand(*weights.shape, v.shape[-1])
    if "relative_value.weight" in params:
        values = values + params["relative_value.weight"][rows]
    return (weights[..., None] * values).sum(-2)


def wrong_rows(old, new):
    return rewritten(shaw_attention, _relative_rows=rewritten(_relative_rows, old, new))


CASES = [
    Case(
        name="shaw_attention",
        section="positions",
        title="Relative positions of keys and values (Shaw)",
        reference=shaw_attention,
        inputs=inputs,
        configs=(
            Config("rank2", {"lead": (), "n_query": 7, "n_key": 7, "d_head": 5, "d_value": 4, "max_distance": 3}),
            Config(
                "rank4",
                {"lead": (2, 3), "n_query": 4, "n_key": 6, "d_head": 5, "d_value": 3, "max_distance": 2,
                 "mask": "causal"},
                {"scale": 0.3},
            ),
            Config(
                "empty_rows",
                {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 3, "d_value": 4, "max_distance": 2,
                 "mask": "empty rows"},
            ),
            Config(
                "keys_only",
                {"lead": (3,), "n_query": 5, "n_key": 4, "d_head": 6, "d_value": 2, "max_distance": 8, "values": False},
            ),
            *(
                Config(
                    f"reach{reach}",
                    {"lead": (2, 2), "n_query": 23, "n_key": 31, "d_head": 16, "d_value": 12, "max_distance": reach,
                     "mask": "causal"},
                    profile="full",
                )
                for reach in (0, 1, 16, 40)
            ),
            Config(
                "wide",
                {"lead": (2, 8), "n_query": 128, "n_key": 128, "d_head": 32, "d_value": 32, "max_distance": 16},
                measured=True,
            ),
        ),
        peers={"torch": torch_shaw},
        # PyTorch adds up the gradient of a row that was looked up often in the dtype of the table.
        sums_in_storage=("torch",),
        bugs={
            "before and after swapped": wrong_rows("not_before > max_distance", "-not_before > max_distance"),
            "distance not clipped on the left": wrong_rows(
                "xp.where(ahead < -max_distance, -max_distance, ahead)", "xp.where(ahead < -max_distance, 0, ahead)"
            ),
            "past of the cache forgotten": wrong_rows("xp.arange(n_key - n_query, n_key)", "xp.arange(n_query)"),
            "relative scores not scaled": rewritten(
                shaw_attention, "relative[KEYS[0]]) * factor", "relative[KEYS[0]]) * 1.0"
            ),
            "no gradient of q through the distances": rewritten(shaw_attention, "dq + dq_relative", "dq"),
            "relative values have no say in the weights": rewritten(
                shaw_attention,
                'dweights = dweights + xp.einsum("...qd,qkd->...qk", dy, relative[KEYS[1]])', "dweights = dweights",
            ),
        },
    )
]
