"""Sparse attention, against dense masks in PyTorch and the masks of GPT-Neo."""

from functools import cache

import torch
from transformers import GPTNeoConfig
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.sliding_window import inputs
from compare.cases.tiled_attention import torch_whole
from refimpl.attention.sparse import strided
from refimpl.attention.sparse.alternating import alternating_attention
from refimpl.attention.sparse.strided import strided_attention


def self_inputs(generator, *, n_seq, **sizes):
    return inputs(generator, n_query=n_seq, n_key=n_seq, **sizes)


def torch_strided(q, k, v, *, stride, mask=None, **settings):
    """Look at the distance of every pair of positions."""
    distance = torch.arange(q.shape[-2])[:, None] - torch.arange(q.shape[-2])
    dense = (distance >= 0) & ((distance < stride) | (distance % stride == 0))
    return torch_whole(q, k, v, mask=dense if mask is None else dense & mask, **settings)[0]


def torch_alternating(q, k, v, *, layer, window, mask=None, **settings):
    n_query, n_key = q.shape[-2], k.shape[-2]
    dense = torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query)
    dense = dense.triu(n_key - n_query - window + 1) if layer % 2 else dense
    return torch_whole(q, k, v, mask=dense if mask is None else dense & mask, **settings)[0]


@cache
def _gpt_neo_mask(n_key, layer, window):
    config = GPTNeoConfig(
        hidden_size=2, num_heads=1, num_layers=2, attention_types=[[["global", "local"], 1]], window_size=window,
        max_position_embeddings=n_key,
    )  # fmt: skip
    return GPTNeoSelfAttention(config, config.attention_layers[layer % 2]).bias[0, 0]


def gpt_neo_alternating(q, k, v, *, layer, window, mask=None, **settings):
    """Under the mask that GPT-Neo keeps for the layer; the last queries of it where there is a past."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    dense = _gpt_neo_mask(n_key, layer, window)[n_key - n_query :]
    return torch_whole(q, k, v, mask=dense if mask is None else dense & mask, **settings)[0]


def wrong_columns(old, new):
    return rewritten(strided_attention, _columns=rewritten(strided._columns, old, new))


STRIDED_BUGS = {
    "own position counted twice": rewritten(
        strided_attention, "[None, :] < xp.arange(n_row)", "[None, :] <= xp.arange(n_row)"
    ),
    "columns not causal": rewritten(
        strided_attention, "[None, :] < xp.arange(n_row)", "[None, :] != xp.arange(n_row)"
    ),
    "window off by one": rewritten(strided_attention, "left=stride - 1", "left=stride"),
    "rows for columns": wrong_columns("n_row, stride, x.shape[-1])), -2, -3)", "stride, n_row, x.shape[-1])), 0, 0)"),
    "filler before the sequence": wrong_columns(
        "(0, n_row * stride - x.shape[-2])", "(n_row * stride - x.shape[-2], 0)"
    ),
    "gradient of the columns forgotten": rewritten(strided_attention, "near + _rows(xp, far, n_seq)", "near"),
    "mask of the padding ignored in the columns": rewritten(
        strided_attention, "seen = above if mask is None else", "seen = above if True else"
    ),
}  # fmt: skip
ALTERNATING_BUGS = {
    "odd layers dense": rewritten(alternating_attention, "layer % 2 == 0", "layer % 2 == 1"),
    "all layers dense": rewritten(alternating_attention, "layer % 2 == 0", "True"),
    "window does not count the query": rewritten(alternating_attention, "left=window - 1", "left=window"),
    "dense layers not causal": rewritten(alternating_attention, "causal=True", "causal=False"),
}

CASES = [
    Case(
        name="strided_attention",
        section="attention",
        title="Strided sparse attention",
        reference=strided_attention,
        inputs=self_inputs,
        configs=(
            Config("ragged", {"lead": (2, 3), "n_seq": 11, "d_head": 4, "d_value": 5}, {"stride": 3}),
            Config("whole", {"lead": (3,), "n_seq": 8, "d_head": 5, "d_value": 2}, {"stride": 4, "scale": 0.3}),
            Config("short", {"lead": (2,), "n_seq": 3, "d_head": 4, "d_value": 5}, {"stride": 5}),
            Config("every", {"lead": (2,), "n_seq": 5, "d_head": 3, "d_value": 4}, {"stride": 1}),
            Config(
                "padding",
                {"lead": (2, 3), "n_seq": 10, "d_head": 4, "d_value": 6, "padded": True, "scale": 2.0},
                {"stride": 3, "softcap": 2.0},
            ),
            Config("wide", {"lead": (1, 2), "n_seq": 256, "d_head": 32, "d_value": 32}, {"stride": 16}, measured=True),
        ),
        peers={"torch": torch_strided},
        bugs=STRIDED_BUGS,
    ),
    Case(
        name="alternating_attention",
        section="attention",
        title="Dense and banded attention in turn (GPT-3)",
        reference=alternating_attention,
        inputs=inputs,
        configs=(
            Config(
                "dense",
                {"lead": (2, 3), "n_query": 7, "n_key": 7, "d_head": 4, "d_value": 5},
                {"layer": 0, "window": 3},
            ),
            Config(
                "banded", {"lead": (2,), "n_query": 8, "n_key": 8, "d_head": 5, "d_value": 3}, {"layer": 1, "window": 3}
            ),
            Config(
                "cache", {"lead": (3,), "n_query": 2, "n_key": 9, "d_head": 4, "d_value": 6}, {"layer": 5, "window": 4}
            ),
            Config(
                "padding",
                {"lead": (2, 3), "n_query": 6, "n_key": 6, "d_head": 4, "d_value": 5, "padded": True},
                {"layer": 2, "window": 2, "scale": 0.3},
            ),
            Config(
                "wide",
                {"lead": (1, 4), "n_query": 512, "n_key": 512, "d_head": 32, "d_value": 32},
                {"layer": 3, "window": 128},
                profile="full",
            ),
        ),
        peers={"torch": torch_alternating, "GPT-Neo mask": gpt_neo_alternating},
        bugs=ALTERNATING_BUGS,
    ),
]
