"""The Transformer, embedded sequences in and states out, against `torch.nn.Transformer`."""

import warnings

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.decoder_block import decoder_block_shapes
from compare.cases.draw import normal, normal_params
from compare.cases.encoder import wrong_stack
from compare.cases.encoder_block import block_shapes
from compare.cases.feed_forward import TORCH_ACTIVATIONS
from compare.cases.multi_head import torch_mask
from compare.peers.torch_peer import call_module, meta_module
from refimpl.blocks.transformer import transformer
from refimpl.layers.layer_norm import layer_norm

N_LAYER, N_DECODER_LAYER = 2, 2


def transformer_shapes(d_model, d_ff, n_layer=N_LAYER, n_decoder_layer=N_DECODER_LAYER):
    """Shapes of the parameters, as `torch.nn.Transformer` names them."""
    halves = {"encoder": (n_layer, block_shapes), "decoder": (n_decoder_layer, decoder_block_shapes)}
    blocks = {
        f"{half}.layers.{i}.{key}": shape
        for half, (n, shapes) in halves.items()
        for i in range(n)
        for key, shape in shapes(d_model, d_ff).items()
    }
    return {**blocks, **{f"{half}.norm.{key}": (d_model,) for half in halves for key in ("weight", "bias")}}


def inputs(generator, *, n_batch, n_source, n_target, d_model, d_ff, n_head, masked=False):
    sequences = [normal(generator, n_batch, n, d_model) for n in (n_source, n_target)]
    params = normal_params(generator, transformer_shapes(d_model, d_ff))
    if not masked:
        return Inputs((*sequences, params))
    padding = draw_mask(generator, "padding", (n_batch, n_head), n_source, n_source)
    causal = draw_mask(generator, "causal", (n_batch, n_head), n_target, n_target)
    return Inputs((*sequences, params), {"mask": padding, "memory_mask": padding, "target_mask": causal})


def torch_transformer(
    source, target, params, *, n_layer, n_decoder_layer, n_head, norm_first=False, activation="relu", eps=1e-5,
    mask=None, target_mask=None, memory_mask=None,
):  # fmt: skip
    n_batch, n_source, d_model = source.shape
    n_target = target.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its encoder says that it will take no nested tensors
        model = meta_module(
            torch.nn.Transformer, d_model, n_head, n_layer, n_decoder_layer,
            len(params["encoder.layers.0.linear1.weight"]), dropout=0.0, activation=TORCH_ACTIVATIONS[activation],
            layer_norm_eps=eps, batch_first=True, norm_first=norm_first,
        )  # fmt: skip
    model.encoder.enable_nested_tensor = False
    lengths = ((mask, n_source, n_source), (target_mask, n_target, n_target), (memory_mask, n_target, n_source))
    masks = [torch_mask(each, (n_batch, n_head, n_query, n_key)) for each, n_query, n_key in lengths]
    # PyTorch returns the last state only; hooks catch what every layer and both norms return on the way.
    states, layers = {}, [*model.encoder.layers, *model.decoder.layers]
    hooks = [
        module.register_forward_hook(lambda module, given, state, i=i: states.__setitem__(i, state))
        for i, module in enumerate(layers)
    ]
    hooks.append(model.encoder.register_forward_hook(lambda module, given, y: states.__setitem__(n_layer - 1, y)))
    try:
        last = call_module(model, params, source, target, *masks)
    finally:
        for hook in hooks:
            hook.remove()
    return (*(states[i] for i in range(len(layers) - 1)), last)


def frozen_norm(x, params, *, eps):
    """Normalise without passing on what the norm's own weights should learn."""
    y, pullback = layer_norm(x, params, eps=eps)
    return y, lambda dy: (pullback(dy)[0], {key: 0.0 * param for key, param in params.items()})


SIZES = {"n_layer": N_LAYER, "n_decoder_layer": N_DECODER_LAYER}
SMALL = {"n_batch": 2, "n_source": 5, "n_target": 4, "d_model": 6, "d_ff": 7, "n_head": 3}
MASKED = {"n_batch": 3, "n_source": 4, "n_target": 5, "d_model": 8, "d_ff": 9, "n_head": 2, "masked": True}
WIDE = {"n_batch": 1, "n_source": 64, "n_target": 48, "d_model": 256, "d_ff": 1024, "n_head": 8, "masked": True}

CASES = [
    Case(
        name="transformer",
        section="blocks",
        title="Transformer",
        reference=transformer,
        inputs=inputs,
        outputs=tuple(f"{half}{i}" for half, n in (("read", N_LAYER), ("written", N_DECODER_LAYER)) for i in range(n)),
        configs=(
            Config("post_norm", MASKED, {**SIZES, "n_head": 2}, oracles=False),
            Config("pre_norm", SMALL, {**SIZES, "n_head": 3, "norm_first": True, "activation": "gelu", "eps": 1e-3}),
            Config("pre_norm_masked", MASKED, {**SIZES, "n_head": 2, "norm_first": True}, profile="full"),
            Config("wide", WIDE, {**SIZES, "n_head": 8}, measured=True, profile="full"),
        ),
        peers={"torch": torch_transformer},
        coarse_erf=("torch",),
        dtypes=("float64", "float32"),
        # Autograd tells in a third of the time what complex step would: there are a hundred parameters.
        oracles=("autograd",),
        bugs={
            "blocks of the other order": rewritten(
                transformer,
                "pre_norm_decoder_block if norm_first else post",
                "pre_norm_decoder_block if not norm_first else post",
            ),
            "last norms not trained": rewritten(transformer, _norm_in=lambda params: frozen_norm),
            "every block of the decoder asks the first state": rewritten(transformer, "(read[-1],)", "(read[0],)"),
            "the target asks without a mask": rewritten(transformer, "memory_mask=memory_mask", "memory_mask=None"),
            "the target sees what comes": rewritten(transformer, "mask=target_mask", "mask=None"),
            "gradient of the memory lost": rewritten(transformer, "add_gradients(dread[-1], dmemory)", "dread[-1]"),
            "gradient of the memory from the first block only": wrong_stack(transformer, "shared gradients not added"),
            "gradients of inner states lost": wrong_stack(transformer, "gradients of inner states lost"),
        },
    )
]
