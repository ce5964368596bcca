"""Bucketed relative positions against T5's."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.positions.bucketed import bucketed_bias, relative_buckets


def inputs(generator, *, n_bucket, n_head):
    return Inputs(({"weight": normal(generator, n_bucket, n_head)},))


def t5_bias(params, *, n_query, n_key, max_distance=128, bidirectional=True):
    from transformers.models.t5.modeling_t5 import T5Attention  # takes seconds to import

    weight = params["weight"]
    positions = torch.arange(n_key, device=weight.device)
    ahead = positions[None, :] - positions[n_key - n_query :, None]
    buckets = T5Attention._relative_position_bucket(ahead, bidirectional, weight.shape[0], max_distance)
    return torch.nn.functional.embedding(buckets, weight).permute(2, 0, 1)


def wrong_buckets(old, new):
    return rewritten(bucketed_bias, relative_buckets=rewritten(relative_buckets, old, new))


def _only_last(ids, values, n):
    """Keep the last row of every id, as an assignment would."""
    table = values[:1].repeat(n, axis=0) * 0
    table[ids] = values
    return table


ONE_WAY = {"max_distance": 12, "bidirectional": False}
CASES = [
    Case(
        name="bucketed_bias",
        section="positions",
        title="Bucketed relative positions (T5)",
        reference=bucketed_bias,
        inputs=inputs,
        configs=(
            Config("both_ways", {"n_bucket": 12, "n_head": 3}, {"n_query": 21, "n_key": 21, "max_distance": 16}),
            Config("one_way", {"n_bucket": 8, "n_head": 5}, {"n_query": 17, "n_key": 17, **ONE_WAY}),
            Config("decoding", {"n_bucket": 8, "n_head": 2}, {"n_query": 2, "n_key": 33, **ONE_WAY}),
            Config("default", {"n_bucket": 32, "n_head": 4}, {"n_query": 9, "n_key": 150}),
            Config("long", {"n_bucket": 32, "n_head": 2}, {"n_query": 300, "n_key": 300}, profile="full"),
            Config("many", {"n_bucket": 66, "n_head": 3}, {"n_query": 40, "n_key": 600, "max_distance": 500}, "full"),
            Config("two", {"n_bucket": 2, "n_head": 3}, {"n_query": 9, "n_key": 9, **ONE_WAY}, profile="full"),
            Config("wide", {"n_bucket": 32, "n_head": 8}, {"n_query": 512, "n_key": 512}, measured=True),
        ),
        peers={"transformers": t5_bias},
        # PyTorch 2.13 on the CPU adds up the gradient of a row in the dtype of the table.
        sums_in_storage=("transformers",),
        bugs={
            "distances in a bucket overwrite": rewritten(bucketed_bias, scatter_add=_only_last),
            "before and after swapped": wrong_buckets("is_after = ahead > 0", "ahead = -ahead; is_after = ahead > 0"),
            "past of the cache forgotten": wrong_buckets(
                "xp.arange(n_query - 1, -1, -1)", "(n_key - 1 - xp.arange(n_query))"
            ),
            "buckets end too late": wrong_buckets("_bucket_starts(n_side, max_distance)",
                                                  "_bucket_starts(n_side, max_distance + 3)"),
            "a bucket for each distance": wrong_buckets("_bucket_starts(n_side, max_distance)", "[*range(1, n_side)]"),
            "heads and buckets mixed": rewritten(
                bucketed_bias, "xp.moveaxis(weight[buckets], -1, 0)", "xp.moveaxis(weight[buckets][..., ::-1], -1, 0)"
            ),
        },
    )
]
