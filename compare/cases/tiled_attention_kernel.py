"""Attention in tiles, against the tiles of PyTorch's kernel."""

import math

import torch

from compare.cases.attention import inputs
from compare.cases.case import Case, Config
from compare.cases.tiled_attention import BUGS, SMALL, SQUARE
from refimpl.attention.tiled.attention import tiled_attention


def torch_flash(q, k, v, *, mask=None, causal=False, scale=None, **tile_sizes):
    """PyTorch's kernel, whose causal mask is that of a square; tile sizes are its own."""
    additive = None if mask is None else torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -math.inf)
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    output, lse = kernel(q, k, v, 0.0, causal, attn_mask=additive, scale=scale)
    # The kernel keeps it in float32, apart from the graph of derivatives.
    return output, lse.to(q.dtype) + 0.0 * q[..., 0]


def cotangents_of_output(generator, outputs):
    """Random for the output and 0 for the log-sum-exp, to which the kernel gives no gradient."""
    output, lse = outputs
    return [generator.standard_normal(output.shape), generator.standard_normal(lse.shape) * 0.0]


# Without a bias, a softcap, a dropout or a gradient of the log-sum-exp these are equal to the reference.
BEYOND_KERNELS = ("softcap", "bias", "dropout", "gradient of the log-sum-exp", "after the diagonal", "off by one")

CASES = [
    Case(
        name="tiled_attention_kernel",
        section="attention",
        title="Attention in tiles against PyTorch's kernel",
        reference=tiled_attention,
        inputs=inputs,
        configs=(
            Config("self", {"lead": (2, 3), "n_query": 6, "n_key": 6, "d_head": 5, "d_value": 5}, SQUARE),
            Config(
                "causal",
                {"lead": (2, 3), "n_query": 7, "n_key": 7, "d_head": 4, "d_value": 4},
                SMALL | {"causal": True},
            ),
            Config(
                "padding",
                {"lead": (4, 3), "n_query": 5, "n_key": 8, "d_head": 2, "d_value": 2, "mask": "padding"},
                SMALL,
            ),
            *(
                Config(
                    f"n_{n}",
                    {"lead": (1, 2), "n_query": n, "n_key": n, "d_head": 32, "d_value": 32},
                    {"causal": True},
                    measured=True,
                    profile="quick" if n == 256 else "full",
                )
                for n in (256, 1024)
            ),
        ),
        peers={"torch flash": torch_flash},
        bugs={name: bug for name, bug in BUGS.items() if not any(word in name for word in BEYOND_KERNELS)},
        outputs=("output", "lse"),
        cotangents=cotangents_of_output,
    ),
]
