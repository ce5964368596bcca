"""Masks at work: attention under a causal mask, and under a mask of lengths, against PyTorch's own masks."""

import warnings

import torch
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from compare.cases.attention import inputs as attention_inputs
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from refimpl.arrays import array_namespace
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask, length_mask, padding_mask


def causal_attention(q, k, v, *, align):
    """Attend to what came before."""
    mask = causal_mask(q.shape[-2], k.shape[-2], like=q, align=align)
    return attention(q, k, v, mask=mask)


def padded_attention(q, k, v, *, lengths):
    """Attend to the tokens of every sequence, not to what follows them."""
    array_namespace(q, k, v, lengths)
    mask = padding_mask(length_mask(lengths, k.shape[-2]))
    return attention(q, k, v, mask=mask)


def torch_causal(q, k, v, *, align):
    corner = {"bottom_right": causal_lower_right, "top_left": causal_upper_left}[align]
    with warnings.catch_warnings():
        # With more queries than keys PyTorch warns of NaN, and gives 0 as we do.
        warnings.filterwarnings("ignore", message="Lower right causal bias")
        mask = corner(q.shape[-2], k.shape[-2])
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def torch_is_causal(q, k, v, *, align):
    # PyTorch's flag is top-left; a suffix of the queries of a square problem is what bottom-right means.
    n_before = k.shape[-2] - q.shape[-2] if align == "bottom_right" else 0
    padded = torch.nn.functional.pad(q, (0, 0, max(n_before, 0), 0))
    y = torch.nn.functional.scaled_dot_product_attention(padded[..., max(-n_before, 0) :, :], k, v, is_causal=True)
    y = y[..., max(n_before, 0) :, :]
    return torch.nn.functional.pad(y, (0, 0, max(-n_before, 0), 0))


def torch_padded(q, k, v, *, lengths):
    is_token = torch.stack([torch.arange(k.shape[-2]) < length for length in lengths])
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=is_token[:, None, None, :])


def padded_inputs(generator, *, n_batch, **sizes):
    drawn = attention_inputs(generator, lead=(n_batch, 2), **sizes)
    return Inputs(drawn.args, {"lengths": generator.permutation(sizes["n_key"] + 1)[:n_batch]})


CAUSAL = "xp.arange(n_query)[:, None] + n_before"
OFF_BY_ONE = rewritten(causal_mask, CAUSAL, f"{CAUSAL} + 1")
STRICT = rewritten(causal_mask, CAUSAL, f"{CAUSAL} - 1")
TOP_LEFT = rewritten(causal_mask, 'if align == "bottom_right"', 'if align == "top_left"')

CASES = [
    Case(
        name="causal_mask",
        section="attention",
        title="Causal mask",
        reference=causal_attention,
        inputs=attention_inputs,
        configs=(
            Config(
                "square",
                {"lead": (2, 3), "n_query": 6, "n_key": 6, "d_head": 4, "d_value": 4},
                {"align": "bottom_right"},
            ),
            Config(
                "more_keys",
                {"lead": (2, 3), "n_query": 4, "n_key": 7, "d_head": 5, "d_value": 5},
                {"align": "bottom_right"},
            ),
            Config(
                "more_queries",
                {"lead": (3, 2), "n_query": 7, "n_key": 4, "d_head": 5, "d_value": 5},
                {"align": "bottom_right"},
            ),
            Config(
                "one_query",
                {"lead": (2, 3), "n_query": 1, "n_key": 8, "d_head": 5, "d_value": 5},
                {"align": "bottom_right"},
            ),
            Config(
                "top_left", {"lead": (2, 3), "n_query": 4, "n_key": 7, "d_head": 5, "d_value": 5}, {"align": "top_left"}
            ),
        ),
        peers={"torch": torch_causal, "torch is_causal": torch_is_causal},
        bugs={
            "off by one": rewritten(causal_attention, causal_mask=OFF_BY_ONE),
            "strict": rewritten(causal_attention, causal_mask=STRICT),
            "aligned at the other corner": rewritten(causal_attention, causal_mask=TOP_LEFT),
            "transposed": rewritten(
                causal_attention, "k, v, mask=mask", "k, v, mask=mask if mask.shape[0] != mask.shape[1] else mask.T"
            ),
        },
    ),
    Case(
        name="padding_mask",
        section="attention",
        title="Padding mask",
        reference=padded_attention,
        inputs=padded_inputs,
        configs=(
            Config("self", {"n_batch": 4, "n_query": 6, "n_key": 6, "d_head": 5, "d_value": 3}),
            Config("cross", {"n_batch": 5, "n_query": 4, "n_key": 8, "d_head": 3, "d_value": 6}),
            Config("with_empty", {"n_batch": 6, "n_query": 3, "n_key": 5, "d_head": 4, "d_value": 2}),
        ),
        peers={"torch": torch_padded},
        bugs={
            "one token too many": rewritten(
                padded_attention, length_mask=rewritten(length_mask, "< lengths", "<= lengths")
            ),
            "True for padding": rewritten(
                padded_attention, "length_mask(lengths, k.shape[-2])", "~length_mask(lengths, k.shape[-2])"
            ),
            "on the wrong axis": rewritten(
                padded_attention, padding_mask=rewritten(padding_mask, "[:, None, None, :]", "[:, None, :, None]")
            ),
        },
    ),
]
