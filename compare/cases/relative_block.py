"""Transformer-XL's blocks, around the peers of its attention."""

from functools import partial

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.encoder_block import block_shapes
from compare.cases.relative import torch_gathered, xlnet
from compare.cases.relative_layer import torch_layer
from refimpl.blocks.relative.block import relative_post_norm_block, relative_pre_norm_block

HEADS = {"n_head": 2}
SHORT = {"n_batch": 2, "n_seq": 5, "n_memory": 3, "d_model": 6, "n_head": 2, "d_head": 4, "d_ff": 7}
LONG = {"n_batch": 3, "n_seq": 2, "n_memory": 6, "d_model": 5, "n_head": 2, "d_head": 3, "d_ff": 8, "padded": True}


def shapes_of_block(d_model, n_head, d_head, d_ff):
    inner = n_head * d_head
    attention = {"qkv_net.weight": (3 * inner, d_model), "r_net.weight": (inner, d_model),
                 "o_net.weight": (d_model, inner)} | {f"r_{end}_bias": (n_head, d_head) for end in "wr"}  # fmt: skip
    others = {key: shape for key, shape in block_shapes(d_model, d_ff).items() if not key.startswith("self_attn.")}
    return {f"self_attn.{key}": shape for key, shape in attention.items()} | others


def inputs(generator, *, n_batch, n_seq, n_memory, d_model, n_head, d_head, d_ff, padded=False):
    x, memory, relative = (
        normal(generator, *shape, d_model) for shape in ((n_batch, n_seq), (n_batch, n_memory), (n_memory + n_seq,))
    )
    params = normal_params(generator, shapes_of_block(d_model, n_head, d_head, d_ff))
    is_token = generator.random((n_batch, 1, 1, n_memory + n_seq)) < 0.7
    is_token[..., n_memory:] = True  # XLNet has no answer where there is no key
    return Inputs((x, memory, relative, params), {"mask": is_token} if padded else {})


def torch_block(core, norm_first, x, memory, relative, params, *, n_head, eps=1e-5, mask=None):
    attention = {key.removeprefix("self_attn."): p for key, p in params.items() if key.startswith("self_attn.")}
    layer = partial(torch_layer, partial(core, mask=mask), relative=relative, params=attention, n_head=n_head)
    norm1, norm2 = (
        partial(torch.nn.functional.layer_norm, normalized_shape=x.shape[-1:], weight=params[f"norm{i}.weight"],
                bias=params[f"norm{i}.bias"], eps=eps)
        for i in (1, 2)
    )  # fmt: skip
    wide, narrow = (partial(torch.nn.functional.linear, weight=params[f"linear{i}.weight"],
                            bias=params[f"linear{i}.bias"]) for i in (1, 2))  # fmt: skip
    if norm_first:
        mid = x + layer(norm1(x), norm1(memory))
        return mid + narrow(wide(norm2(mid)).relu())
    mid = norm1(x + layer(x, memory))
    return norm2(mid + narrow(wide(mid).relu()))


def block_case(block, title, norm_first, bugs):
    cores = {"torch": torch_gathered, "XLNet": xlnet}
    return Case(
        name=block.__name__,
        section="blocks",
        title=title,
        reference=block,
        inputs=inputs,
        configs=(
            Config("short_memory", SHORT, {**HEADS, "eps": 1e-3}),
            Config("long_memory", LONG, HEADS),
        ),
        peers={name: partial(torch_block, core, norm_first) for name, core in cores.items()},
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=tuple(cores),
        bugs=bugs,
    )


CASES = [
    block_case(
        relative_post_norm_block, "Block of Transformer-XL", False,
        {
            "eps ignored": rewritten(relative_post_norm_block, 'scope(params, "norm1."), eps=eps',
                                     'scope(params, "norm1."), eps=1e-5'),
            "residual of the attention forgotten": rewritten(relative_post_norm_block, "x + attended,", "attended,"),
            "residual forgotten in the backward": rewritten(
                relative_post_norm_block, "norm1_pullback(dsum2 + dmid_fed)", "norm1_pullback(dmid_fed)"
            ),
            "mask ignored": rewritten(relative_post_norm_block, "mask=mask\n", "mask=None\n"),
            "no gradient to the memory": rewritten(
                relative_post_norm_block, "dsum1 + dx_attended, dmemory", "dsum1 + dx_attended, 0.0 * dmemory"
            ),
        },
    ),
    block_case(
        relative_pre_norm_block, "Block of Transformer-XL, norms first", True,
        {
            "memory not normalised": rewritten(
                relative_pre_norm_block, "normed1[:, :n_memory], relative", "memory, relative"
            ),
            "residual of what was normalised": rewritten(
                relative_pre_norm_block, "mid = x + attended", "mid = normed1[:, n_memory:] + attended"
            ),
            "gradient of the memory past the norm": rewritten(
                relative_pre_norm_block, "dboth[:, :n_memory], drelative", "dmemory_normed, drelative"
            ),
            "residual forgotten in the backward": rewritten(
                relative_pre_norm_block, "dmid = dy + dmid_normed", "dmid = dmid_normed"
            ),
        },
    ),
]  # fmt: skip
