"""A stack of encoder blocks, against `torch.nn.TransformerEncoder`."""

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.encoder_block import block_shapes, torch_layer
from compare.cases.multi_head import torch_mask
from compare.peers.torch_peer import call_module, meta_module
from refimpl.blocks.encoder import encoder, stack
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block

N_LAYER = 3


def inputs(generator, *, n_batch, n_seq, d_model, d_ff, n_head=1, mask=None, biased=True):
    x = normal(generator, n_batch, n_seq, d_model)
    shapes = block_shapes(d_model, d_ff, biased=biased)
    params = normal_params(generator, {f"layers.{i}.{key}": shapes[key] for i in range(N_LAYER) for key in shapes})
    return Inputs(
        (x, params), {} if mask is None else {"mask": draw_mask(generator, mask, (n_batch, n_head), n_seq, n_seq)}
    )


def torch_encoder(x, params, *, n_layer, n_head, block=post_norm_block, activation="relu", eps=1e-5, mask=None):
    n_batch, n_seq, d_model = x.shape
    layer = torch_layer(
        d_model, len(params["layers.0.linear1.weight"]), n_head=n_head, activation=activation, eps=eps,
        biased="layers.0.linear1.bias" in params, norm_first=block is pre_norm_block,
    )  # fmt: skip
    stack = meta_module(torch.nn.TransformerEncoder, layer, n_layer, enable_nested_tensor=False)
    # PyTorch returns the last state only; hooks catch what every layer returns on the way.
    states = []
    hooks = [each.register_forward_hook(lambda module, given, state: states.append(state)) for each in stack.layers]
    try:
        call_module(stack, params, x, torch_mask(mask, (n_batch, n_head, n_seq, n_seq)))
    finally:
        for hook in hooks:
            hook.remove()
    return tuple(states)


def unknown_block(x, params, **settings):
    """Ignore which block was asked for: always the norm after the sum."""
    return encoder(x, params, **{**settings, "block": post_norm_block})


STACK_BUGS = {
    "layers share the weights of the first": (
        "scope(params, prefix), **settings", "scope(params, prefixes[0]), **settings"
    ),
    "layers in reverse order": ("zip(prefixes, blocks", "zip(prefixes[::-1], blocks"),
    "gradients of inner states lost": (
        "add_gradients(dstate, dstate_here)", "dstate_here if dstate is None else dstate"
    ),
    "gradient of the input from the last layer only": ("add_gradients(dstate, dstate_here)", "dstate_here"),
    "shared gradients not added": (
        "[add_gradients(*both) for both in zip(dshared, dshared_here, strict=True)]", "dshared_here"
    ),
}  # fmt: skip


def wrong_stack(component, name):
    """Build a component on one of the wrong stacks."""
    return rewritten(component, stack=rewritten(stack, *STACK_BUGS[name]))


CASES = [
    Case(
        name="encoder",
        section="blocks",
        title="Encoder",
        reference=encoder,
        inputs=inputs,
        outputs=tuple(f"state{i}" for i in range(1, N_LAYER + 1)),
        configs=(
            Config(
                "post_norm",
                {"n_batch": 3, "n_seq": 5, "n_head": 2, "d_model": 8, "d_ff": 11, "mask": "padding"},
                {"n_layer": N_LAYER, "n_head": 2, "activation": "gelu"},
            ),
            Config(
                "pre_norm",
                {"n_batch": 2, "n_seq": 4, "d_model": 9, "d_ff": 6, "mask": "causal"},
                {"n_layer": N_LAYER, "n_head": 3, "block": pre_norm_block, "eps": 1e-3},
            ),
            Config(
                "unbiased",
                {"n_batch": 2, "n_seq": 3, "d_model": 6, "d_ff": 4, "biased": False},
                {"n_layer": N_LAYER, "n_head": 1, "activation": "gelu_tanh"},
            ),
            Config(
                "wide",
                {"n_batch": 1, "n_seq": 64, "d_model": 256, "d_ff": 1024},
                {"n_layer": N_LAYER, "n_head": 8, "activation": "gelu"},
                measured=True,
            ),
        ),
        peers={"torch": torch_encoder},
        coarse_erf=("torch",),
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=("torch",),
        bugs={
            "block of another kind": unknown_block,
            **{name: wrong_stack(encoder, name) for name in STACK_BUGS if "shared" not in name},
        },
    )
]
