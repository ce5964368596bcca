"""A stack of Transformer-XL's blocks, and its memory."""

from functools import partial

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.relative import torch_gathered, xlnet
from compare.cases.relative_block import HEADS, LONG, SHORT, shapes_of_block, torch_block
from refimpl.blocks.relative.block import relative_post_norm_block, relative_pre_norm_block
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.blocks.relative.stack import relative_stack

N_LAYER = 3


def stack_inputs(generator, *, n_batch, n_seq, n_memory, d_model, n_head, d_head, d_ff, shared=False):
    x, memory, relative = (
        normal(generator, *shape, d_model)
        for shape in ((n_batch, n_seq), (N_LAYER, n_batch, n_memory), (n_memory + n_seq,))
    )
    block = shapes_of_block(d_model, n_head, d_head, d_ff)
    biases = {key.removeprefix("self_attn."): block.pop(key) for key in list(block) if shared and "_bias" in key}
    shapes = {f"layers.{i}.{key}": shape for i in range(N_LAYER) for key, shape in block.items()} | biases
    return Inputs((x, memory, relative, normal_params(generator, shapes)))


def memory_inputs(generator, *, n_layer, n_batch, n_before, n_seq, d_model):
    return Inputs(tuple(normal(generator, n_layer, n_batch, n, d_model) for n in (n_before, n_seq)))


def torch_stack(core, x, memory, relative, params, *, n_layer, n_head, block=relative_post_norm_block):
    shared = {f"self_attn.{key}": p for key, p in params.items() if not key.startswith("layers.")}
    states = [x]
    for i in range(n_layer):
        own = {key.removeprefix(f"layers.{i}."): p for key, p in params.items() if key.startswith(f"layers.{i}.")}
        first = block is relative_pre_norm_block
        states.append(torch_block(core, first, states[-1], memory[i], relative, own | shared, n_head=n_head))
    return tuple(states[1:])


def torch_memory(memory, x, *, n_memory):
    both = torch.cat([memory, x], 2)
    return both.narrow(2, max(0, both.shape[2] - n_memory), min(n_memory, both.shape[2])).clone()


CASES = [
    Case(
        name="relative_stack",
        section="blocks",
        title="Blocks of Transformer-XL, each with its memory",
        reference=relative_stack,
        inputs=stack_inputs,
        outputs=tuple(f"state{i}" for i in range(1, N_LAYER + 1)),
        configs=(
            Config("own_biases", SHORT, {**HEADS, "n_layer": N_LAYER}),
            Config(
                "shared_biases", {key: size for key, size in LONG.items() if key != "padded"} | {"shared": True},
                {**HEADS, "n_layer": N_LAYER, "block": relative_pre_norm_block},
            ),
        ),
        dtypes=("float64", "float32"),
        peers={"torch": partial(torch_stack, torch_gathered), "XLNet": partial(torch_stack, xlnet)},
        bugs={
            "memory of the first block for all": rewritten(relative_stack, "memory[i], rel", "memory[0], rel"),
            "gradients of the memories in the order of the backward": rewritten(
                relative_stack, "dmemories[::-1]", "dmemories"
            ),
            "gradient of the shared biases of one block only": rewritten(
                relative_stack, "add_gradients(dshared.get(key), dblock[key])", "dblock[key]"
            ),
            "gradient of the encodings of one block only": rewritten(
                relative_stack, "drelative = add_gradients(drelative, drelative_here)", "drelative = drelative_here"
            ),
        },
    ),
    Case(
        name="segment_memory",
        section="blocks",
        title="Segment memory of Transformer-XL",
        reference=segment_memory,
        inputs=memory_inputs,
        configs=tuple(
            Config(name, {"n_layer": 2, "n_batch": 3, "n_before": n_before, "n_seq": 4, "d_model": 5}, {"n_memory": n})
            for name, n_before, n in (("some_kept", 3, 5), ("all_kept", 2, 9), ("none_before", 0, 2), ("nothing", 1, 0))
        ),
        peers={"torch": torch_memory},
        bugs={
            "the oldest kept": rewritten(segment_memory, "both[:, :, n_forgotten:]",
                                         "both[:, :, : both.shape[2] - n_forgotten]"),
            "gradient to the oldest": rewritten(segment_memory, "(n_forgotten, 0), (0, 0)", "(0, n_forgotten), (0, 0)"),
            "segment before its memory": rewritten(segment_memory, "[memory, x]", "[x, memory]"),
        },
    ),
]  # fmt: skip
