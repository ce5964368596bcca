"""Transformer-XL's layer over a segment and its memory, around the peers of its attention."""

from functools import partial

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.relative import BUGS, torch_gathered, xlnet
from refimpl.attention.relative.layer import relative_self_attention


def layer_inputs(generator, *, n_batch, n_seq, n_memory, d_model, n_head, d_head):
    inner = n_head * d_head
    shapes = {
        "qkv_net.weight": (3 * inner, d_model), "r_net.weight": (inner, d_model), "o_net.weight": (d_model, inner),
        "r_w_bias": (n_head, d_head), "r_r_bias": (n_head, d_head),
    }  # fmt: skip
    arrays = [
        normal(generator, *shape, d_model) for shape in ((n_batch, n_seq), (n_batch, n_memory), (n_memory + n_seq,))
    ]
    return Inputs((*arrays, normal_params(generator, shapes)))


def torch_layer(core, x, memory, relative, params, *, n_head):
    """Project memory and segment, and attend by one of the peers above."""
    split = lambda x: x.unflatten(-1, (n_head, -1)).movedim(-2, -3)  # noqa: E731
    both = torch.cat([memory, x], 1)
    q, k, v = (split(part) for part in (both @ params["qkv_net.weight"].mT).chunk(3, -1))
    r = split(relative @ params["r_net.weight"].mT)
    y = core(q[:, :, memory.shape[1] :], k, v, r, params["r_w_bias"], params["r_r_bias"])
    return y.movedim(-3, -2).flatten(-2) @ params["o_net.weight"].mT


LAYER_BUGS = {
    **{name: rewritten(relative_self_attention, relative_attention=bug) for name, bug in BUGS.items()},
    "segment before its memory": rewritten(relative_self_attention, "[memory, x], axis=1", "[x, memory], axis=1"),
    "no gradient to the memory": rewritten(
        relative_self_attention, "dboth[:, :n_memory], drelative", "dboth[:, :n_memory] * 0.0, drelative"
    ),
    "encodings nearest first": rewritten(
        relative_self_attention, "linear(relative[None]", "linear(relative[None, ::-1]"
    ),
}

CASES = [
    Case(
        name="relative_self_attention",
        section="attention",
        title="Transformer-XL self-attention over a segment and its memory",
        reference=relative_self_attention,
        inputs=layer_inputs,
        configs=(
            Config(
                "short_memory",
                {"n_batch": 2, "n_seq": 5, "n_memory": 3, "d_model": 6, "n_head": 2, "d_head": 4},
                {"n_head": 2},
            ),
            Config(
                "long_memory",
                {"n_batch": 2, "n_seq": 3, "n_memory": 7, "d_model": 4, "n_head": 3, "d_head": 2},
                {"n_head": 3},
            ),
            Config(
                "no_memory",
                {"n_batch": 3, "n_seq": 4, "n_memory": 0, "d_model": 5, "n_head": 1, "d_head": 6},
                {"n_head": 1},
            ),
            Config(
                "wide",
                {"n_batch": 1, "n_seq": 64, "n_memory": 96, "d_model": 64, "n_head": 4, "d_head": 16},
                {"n_head": 4},
                profile="full",
            ),
        ),
        peers={"torch": partial(torch_layer, torch_gathered), "XLNet": partial(torch_layer, xlnet)},
        bugs=LAYER_BUGS,
    ),
]
