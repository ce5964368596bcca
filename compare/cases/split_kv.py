"""Results over chunks of keys, merged by their log-sum-exp, against the whole in PyTorch."""

import math

import torch

from compare.cases.attention import inputs
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from compare.cases.tiled_attention import torch_whole
from refimpl.attention.tiled.merge import merge_attention
from refimpl.attention.tiled.split_kv import split_kv_attention


def parts_inputs(generator, *, n_part, lead, n_query, d_value, empty=()):
    lses = normal(generator, n_part, *lead, n_query, scale=2.0)
    lses[list(empty)] = -math.inf
    return Inputs((normal(generator, n_part, *lead, n_query, d_value), lses))


def torch_merge(outputs, lses):
    """Weigh the parts by the softmax of their log-sum-exp."""
    empty = (lses == -math.inf).all(0)
    some = lses.masked_fill(empty, 0.0)
    shares = torch.softmax(some, 0).masked_fill(empty, 0.0)
    return torch.einsum("p...,p...d->...d", shares, outputs), torch.logsumexp(some, 0).masked_fill(empty, -math.inf)


def torch_split(q, k, v, *, chunk, **settings):
    return torch_whole(q, k, v, **settings)


MERGE_BUGS = {
    "shares not normalised": rewritten(merge_attention, "(exps / some)[..., None]", "exps[..., None]"),
    "plain mean": rewritten(merge_attention, "(exps / some)[..., None]", "(exps * 0.0 + 1.0 / len(lses))[..., None]"),
    "merged log-sum-exp without the maximum": rewritten(merge_attention, "shift + xp.log(some)", "xp.log(some)"),
    "shares of base 2": rewritten(merge_attention, "xp.exp(lses - shift)", "xp.exp((lses - shift) * math.log(2.0))"),
    "gradient of the shares forgotten": rewritten(merge_attention, "(along_output + dlse)", "dlse"),
    "gradient of the log-sum-exp forgotten": rewritten(merge_attention, "(along_output + dlse)", "along_output"),
    "gradient without what the others lose": rewritten(merge_attention, "(outputs - output)", "outputs"),
}

CASES = [
    Case(
        name="merge_attention",
        section="attention",
        title="Merging partial attention by its log-sum-exp",
        reference=merge_attention,
        inputs=parts_inputs,
        configs=(
            Config("rank3", {"n_part": 3, "lead": (), "n_query": 4, "d_value": 5}),
            Config("rank5", {"n_part": 5, "lead": (2, 3), "n_query": 4, "d_value": 6}),
            Config("one_part", {"n_part": 1, "lead": (2,), "n_query": 3, "d_value": 4}),
            Config("parts_without_keys", {"n_part": 4, "lead": (2,), "n_query": 3, "d_value": 5, "empty": (0, 2)}),
            Config("no_keys_at_all", {"n_part": 2, "lead": (), "n_query": 3, "d_value": 4, "empty": (0, 1)}),
            Config("many", {"n_part": 64, "lead": (4,), "n_query": 16, "d_value": 32}, profile="full"),
        ),
        peers={"torch": torch_merge},
        bugs=MERGE_BUGS,
        outputs=("output", "lse"),
    ),
    Case(
        name="split_kv_attention",
        section="attention",
        title="Attention with split keys and values",
        reference=split_kv_attention,
        inputs=inputs,
        configs=(
            Config("one_query", {"lead": (2, 3), "n_query": 1, "n_key": 8, "d_head": 4, "d_value": 5}, {"chunk": 3}),
            Config(
                "padding",
                {"lead": (4, 3), "n_query": 2, "n_key": 9, "d_head": 5, "d_value": 3, "mask": "padding"},
                {"chunk": 2, "scale": 0.3},
            ),
            Config(
                "causal",
                {"lead": (2,), "n_query": 4, "n_key": 7, "d_head": 3, "d_value": 5, "scale": 2.0, "mask": "causal"},
                {"chunk": 4, "softcap": 2.0},
            ),
            Config("no_key", {"lead": (2,), "n_query": 3, "n_key": 0, "d_head": 4, "d_value": 5}, {"chunk": 2}),
            Config(
                "long",
                {"lead": (2, 2), "n_query": 2, "n_key": 999, "d_head": 16, "d_value": 16},
                {"chunk": 100},
                profile="full",
            ),
        ),
        peers={"torch": torch_split},
        bugs={
            **{name: rewritten(split_kv_attention, merge_attention=bug) for name, bug in MERGE_BUGS.items()},
            "last chunk dropped": rewritten(
                split_kv_attention,
                "chunks = q.shape[-2], tiles(k.shape[-2], chunk)",
                "chunks = q.shape[-2], tiles(k.shape[-2], chunk)[:-1]",
            ),
            "mask of the first chunk for every chunk": rewritten(
                split_kv_attention, "(0, n_query), columns)", "(0, n_query), (0, columns[1] - columns[0]))"
            ),
            "gradient of q from the first chunk only": rewritten(
                split_kv_attention, "[dq_part for dq_part, _, _ in gradients]", "[gradients[0][0]]"
            ),
        },
        outputs=("output", "lse"),
    ),
]
