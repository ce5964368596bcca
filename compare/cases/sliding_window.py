"""Attention in bands, against dense masks in PyTorch and the mask of Hugging Face."""

import torch
from transformers.masking_utils import sliding_window_causal_mask_function

from compare.cases import scaling_study
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from compare.cases.tiled_attention import torch_whole
from refimpl.attention.sparse import band
from refimpl.attention.sparse.band import banded, banded_attention
from refimpl.attention.sparse.sliding_window import sliding_window_attention


def inputs(generator, *, lead, n_query, n_key, d_head, d_value, scale=1.0, padded=False):
    q, k = (normal(generator, *lead, n, d_head, scale=scale) for n in (n_query, n_key))
    v = normal(generator, *lead, n_key, d_value)
    if not padded:
        return Inputs((q, k, v))
    is_token = generator.random((lead[0], 1, 1, n_key)) < 0.7
    return Inputs((q, k, v), {"mask": is_token})


def torch_banded(q, k, v, *, left, right, mask=None, **settings):
    """Compute all scores, and mask those outside the band."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    dense = torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query + right).triu(n_key - n_query - left)
    return torch_whole(q, k, v, mask=dense if mask is None else dense & mask, **settings)


def torch_window(q, k, v, *, window, **settings):
    return torch_banded(q, k, v, left=window - 1, right=0, **settings)[0]


def transformers_window(q, k, v, *, window, mask=None, **settings):
    """Under the mask that Mistral's layers are given; positions count from the end of the past."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    positions = torch.arange(n_query)[:, None] + n_key - n_query
    dense = sliding_window_causal_mask_function(window)(0, 0, positions, torch.arange(n_key)[None, :])
    return torch_whole(q, k, v, mask=dense if mask is None else dense & mask, **settings)[0]


BAND_BUGS = {
    "band edge wraps around to the filler": {
        "_band": rewritten(band._band, " & (keys >= 0) & (keys < n_key)"),
    },
    "left edge off by one": {"_band": rewritten(band._band, "(ahead >= 0)", "(ahead >= 1)")},
    "right edge off by one": {"_band": rewritten(band._band, "ahead <= left + right", "ahead <= left + right + 1")},
    "aligned top-left": {"_layout": rewritten(band._layout, "n_key - n_query - left", "-left")},
    "gradient from one block only": {
        "banded": rewritten(banded, "drows + _pad_rows", "_pad_rows"),
    },
    "mask of the padding ignored": {"old": "seen if mask is None else", "new": "seen if True else"},
    "gradient of the log-sum-exp forgotten": {
        "old": "n_block, n_filler), dlse_blocks)", "new": "n_block, n_filler), dlse_blocks * 0.0)",
    },
}  # fmt: skip


def wrong_band(name):
    return rewritten(banded_attention, **BAND_BUGS[name])


CASES = [
    Case(
        name="banded_attention",
        section="attention",
        title="Attention to both sides of a band",
        reference=banded_attention,
        inputs=inputs,
        configs=(
            Config(
                "self", {"lead": (2, 3), "n_query": 9, "n_key": 9, "d_head": 4, "d_value": 5}, {"left": 2, "right": 1}
            ),
            Config(
                "padding",
                {"lead": (2, 3), "n_query": 8, "n_key": 8, "d_head": 5, "d_value": 3, "padded": True},
                {"left": 2, "right": 2},
            ),
            Config(
                "cross", {"lead": (3,), "n_query": 5, "n_key": 11, "d_head": 4, "d_value": 6}, {"left": 1, "right": 3}
            ),
            Config(
                "wide", {"lead": (3,), "n_query": 4, "n_key": 6, "d_head": 3, "d_value": 5}, {"left": 9, "right": 8}
            ),
            Config(
                "long",
                {"lead": (2, 2), "n_query": 500, "n_key": 500, "d_head": 16, "d_value": 16},
                {"left": 20, "right": 20},
                profile="full",
            ),
        ),
        peers={"torch": torch_banded},
        bugs={name: wrong_band(name) for name in BAND_BUGS},
        outputs=("output", "lse"),
    ),
    Case(
        name="sliding_window_attention",
        section="attention",
        title="Sliding window attention",
        reference=sliding_window_attention,
        inputs=inputs,
        configs=(
            Config("self", {"lead": (2, 3), "n_query": 8, "n_key": 8, "d_head": 4, "d_value": 5}, {"window": 3}),
            Config(
                "cache",
                {"lead": (2,), "n_query": 4, "n_key": 11, "d_head": 5, "d_value": 3},
                {"window": 3, "scale": 0.3},
            ),
            Config("one_query", {"lead": (2, 3), "n_query": 1, "n_key": 9, "d_head": 4, "d_value": 5}, {"window": 4}),
            Config("itself", {"lead": (3,), "n_query": 5, "n_key": 5, "d_head": 4, "d_value": 2}, {"window": 1}),
            Config("more_queries", {"lead": (2,), "n_query": 9, "n_key": 4, "d_head": 3, "d_value": 5}, {"window": 2}),
            Config(
                "padding",
                {"lead": (2, 3), "n_query": 7, "n_key": 7, "d_head": 4, "d_value": 6, "padded": True, "scale": 2.0},
                {"window": 3, "softcap": 2.0},
            ),
            *(
                Config(
                    f"n_{n}",
                    {"lead": (1, 2), "n_query": n, "n_key": n, "d_head": 32, "d_value": 32},
                    {"window": 64},
                    measured=True,
                    profile="quick" if n == 256 else "full",
                )
                for n in (256, 1024)
            ),
        ),
        peers={"torch": torch_window, "transformers mask": transformers_window},
        bugs={
            **{
                name: rewritten(sliding_window_attention, banded_attention=wrong_band(name))
                for name in BAND_BUGS
                if "log-sum-exp" not in name
            },
            "window does not count the query": rewritten(sliding_window_attention, "left=window - 1", "left=window"),
            "window looks ahead": rewritten(
                sliding_window_attention, "left=window - 1, right=0", "left=0, right=window - 1"
            ),
        },
        study=scaling_study.window_study,
    ),
]
