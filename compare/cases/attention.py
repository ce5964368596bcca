"""Scaled dot-product attention, against the same formula in PyTorch and against PyTorch's kernels."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from compare.cases.attention_weights import WEIGHT_BUGS, draw_bias, draw_mask, torch_weights, wrong_weights
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal
from refimpl.attention.dot_product import attention
from refimpl.layers.dropout import dropout, keep_mask


def inputs(generator, *, lead, n_query, n_key, d_head, d_value, scale=1.0, bias=None, mask=None, rate=None):
    q, k = (normal(generator, *lead, n, d_head, scale=scale) for n in (n_query, n_key))
    v = normal(generator, *lead, n_key, d_value, scale=scale)
    biases = () if bias is None else (draw_bias(generator, bias, n_key),)
    masks = {} if mask is None else {"mask": draw_mask(generator, mask, lead, n_query, n_key)}
    if rate is not None:
        masks["keep"] = keep_mask(generator, (*lead, n_query, n_key), rate=rate)
    return Inputs((q, k, v, *biases), masks)


def torch_attention(q, k, v, bias=None, *, keep=None, rate=0.0, **settings):
    weights = torch_weights(q, k, bias, **settings)
    return (weights if keep is None else weights * keep * (1.0 / (1.0 - rate))) @ v


def _with_kernel(backend):
    def torch_kernel(q, k, v, *, mask=None, scale=None):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)

    return torch_kernel


def with_wrong_weights(name):
    """Attention whose weights are wrong in one of the ways of `attention_weights`."""
    return rewritten(attention, attention_weights=wrong_weights(name))


BUGS = {
    **{name: with_wrong_weights(name) for name in WEIGHT_BUGS},
    "gradient of v from unnormalised weights": rewritten(
        attention,
        "dv = xp.matmul(xp.swapaxes(dropped, -1, -2), dy)",
        "highest = xp.max(dropped, axis=-1, keepdims=True); "
        "dv = xp.matmul(xp.swapaxes(dropped / xp.where(highest > 0.0, highest, 1.0), -1, -2), dy)",
    ),
    "dropout not rescaled": rewritten(
        attention, dropout=rewritten(dropout, "1.0 / (1.0 - rate) if rate < 1.0 else 0.0", "1.0")
    ),
    "dropout mask redrawn in the backward": rewritten(
        attention, dropout=rewritten(dropout, "xp.where(keep, dy * scale", "xp.where(keep[..., ::-1], dy * scale")
    ),
    "gradient of v from the weights before dropout": rewritten(
        attention, "xp.swapaxes(dropped, -1, -2)", "xp.swapaxes(weights, -1, -2)"
    ),
}
# Without a bias, a softcap or a dropout these are equal to the reference.
BEYOND_KERNELS = ("softcap", "bias", "dropout")

CASES = [
    Case(
        name="attention",
        section="attention",
        title="Scaled dot-product attention",
        reference=attention,
        inputs=inputs,
        configs=(
            Config("rank2", {"lead": (), "n_query": 5, "n_key": 9, "d_head": 7, "d_value": 4}),
            Config("rank3", {"lead": (2,), "n_query": 6, "n_key": 6, "d_head": 3, "d_value": 5}),
            Config("rank4", {"lead": (2, 3), "n_query": 4, "n_key": 7, "d_head": 5, "d_value": 6}, {"scale": 0.3}),
            Config("sharp", {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 16, "d_value": 3, "scale": 4.0}),
            Config("bias", {"lead": (2, 3), "n_query": 4, "n_key": 6, "d_head": 5, "d_value": 2, "bias": (3, 1, 6)}),
            Config(
                "softcap",
                {"lead": (3,), "n_query": 4, "n_key": 6, "d_head": 5, "d_value": 2, "scale": 2.0, "mask": "random"},
                {"softcap": 2.0},
            ),
            Config(
                "dropout",
                {"lead": (2, 3), "n_query": 5, "n_key": 8, "d_head": 4, "d_value": 6, "mask": "padding", "rate": 0.3},
                {"rate": 0.3},
            ),
            Config(
                "empty_rows", {"lead": (2,), "n_query": 5, "n_key": 7, "d_head": 3, "d_value": 4, "mask": "empty rows"}
            ),
        ),
        peers={"torch": torch_attention},
        bugs=BUGS,
    ),
    Case(
        name="attention_kernels",
        section="attention",
        title="Scaled dot-product attention against PyTorch's kernels",
        reference=attention,
        inputs=inputs,
        configs=(
            Config("self", {"lead": (2, 3), "n_query": 6, "n_key": 6, "d_head": 5, "d_value": 5}),
            Config("cross", {"lead": (3, 2), "n_query": 4, "n_key": 9, "d_head": 7, "d_value": 7}, {"scale": 0.3}),
            Config("causal", {"lead": (2, 3), "n_query": 5, "n_key": 8, "d_head": 4, "d_value": 4, "mask": "causal"}),
            Config(
                "more_queries", {"lead": (3, 2), "n_query": 9, "n_key": 4, "d_head": 5, "d_value": 5, "mask": "causal"}
            ),
            Config(
                "one_query", {"lead": (2, 3), "n_query": 1, "n_key": 8, "d_head": 5, "d_value": 5, "mask": "causal"}
            ),
            Config("padding", {"lead": (4, 3), "n_query": 5, "n_key": 8, "d_head": 2, "d_value": 2, "mask": "padding"}),
            Config(
                "empty_rows",
                {"lead": (2, 3), "n_query": 5, "n_key": 7, "d_head": 3, "d_value": 3, "mask": "empty rows"},
            ),
            Config("one_wide", {"lead": (2, 3), "n_query": 4, "n_key": 5, "d_head": 1, "d_value": 1}),
            Config("sharp", {"lead": (2, 3), "n_query": 4, "n_key": 6, "d_head": 16, "d_value": 16, "scale": 4.0}),
            Config("long", {"lead": (1, 2), "n_query": 130, "n_key": 200, "d_head": 8, "d_value": 8}, profile="full"),
            Config("wide", {"lead": (1, 8), "n_query": 256, "n_key": 256, "d_head": 64, "d_value": 64}, measured=True),
        ),
        peers={"torch math": _with_kernel(SDPBackend.MATH), "torch flash": _with_kernel(SDPBackend.FLASH_ATTENTION)},
        bugs={name: bug for name, bug in BUGS.items() if not any(word in name for word in BEYOND_KERNELS)},
    ),
]
