"""Decoder blocks, normalising after or before, against `torch.nn.TransformerDecoderLayer`."""

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.encoder_block import NO_MEAN_TERM
from compare.cases.feed_forward import TORCH_ACTIVATIONS, always, feed_shapes
from compare.cases.multi_head import attention_shapes, torch_mask, wrong_multi_head
from compare.peers.torch_peer import call_module, meta_module
from refimpl.attention.multi_head import cross_attention, self_attention
from refimpl.blocks.decoder_block import post_norm_decoder_block, pre_norm_decoder_block
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.gelu import gelu_tanh


def decoder_block_shapes(d_model, d_ff, *, biased=True):
    """Shapes of the parameters, as `torch.nn.TransformerDecoderLayer` names them."""
    keys = ("weight", "bias") if biased else ("weight",)
    attention = attention_shapes(d_model, biased=biased)
    return {
        **{f"{part}.{key}": attention[key] for part in ("self_attn", "multihead_attn") for key in attention},
        **feed_shapes(d_model, d_ff, biased=biased),
        **{f"norm{i}.{key}": (d_model,) for i in (1, 2, 3) for key in keys},
    }


def inputs(
    generator, *, n_batch, n_target, n_source, d_model, d_ff, n_head, mask=None, memory_mask=None, biased=True
):
    sequences = [normal(generator, n_batch, n, d_model) for n in (n_target, n_source)]
    params = normal_params(generator, decoder_block_shapes(d_model, d_ff, biased=biased))
    kinds = {"mask": (mask, n_target), "memory_mask": (memory_mask, n_source)}
    return Inputs((*sequences, params), {
        name: draw_mask(generator, kind, (n_batch, n_head), n_target, n_key)
        for name, (kind, n_key) in kinds.items() if kind
    })  # fmt: skip


def torch_layer(d_model, d_ff, *, n_head, activation, eps, biased, norm_first=False):
    return meta_module(
        torch.nn.TransformerDecoderLayer, d_model, n_head, d_ff, dropout=0.0, layer_norm_eps=eps, batch_first=True,
        activation=TORCH_ACTIVATIONS[activation], norm_first=norm_first, bias=biased,
    )  # fmt: skip


def _torch_block(norm_first):
    def torch_block(x, memory, params, *, n_head, activation="relu", eps=1e-5, mask=None, memory_mask=None):
        n_batch, n_target, d_model = x.shape
        layer = torch_layer(
            d_model, len(params["linear1.weight"]), n_head=n_head, activation=activation, eps=eps,
            biased="linear1.bias" in params, norm_first=norm_first,
        )  # fmt: skip
        masks = (
            torch_mask(each, (n_batch, n_head, n_target, n_key))
            for each, n_key in ((mask, n_target), (memory_mask, memory.shape[1]))
        )
        return call_module(layer, params, x, memory, *masks)

    return torch_block


BUGS = {
    "attends to itself with the weights for the memory": {
        "old": 'scope(params, "self_attn.")', "new": 'scope(params, "multihead_attn.")'
    },
    "memory mask ignored": {"old": "mask=memory_mask", "new": "mask=None"},
    "mask of the target ignored": {"old": "n_head=n_head, mask=mask", "new": "n_head=n_head, mask=None"},
    "third norm with the weights of the second": {"old": 'scope(params, "norm3.")', "new": 'scope(params, "norm2.")'},
    "norm gradient without its mean term": {"layer_norm": NO_MEAN_TERM},
    "tanh GELU for erf GELU": {"feed_forward": rewritten(feed_forward, activation_named=always(gelu_tanh))},
    "gradient of the memory's values lost": {"cross_attention": rewritten(cross_attention, "dq, dk + dv", "dq, dk")},
    "self-attention's softmax over queries": {
        "self_attention": rewritten(self_attention, multi_head_attention=wrong_multi_head("softmax over queries"))
    },
    "queries and keys of the memory exchanged": {
        "cross_attention": rewritten(
            cross_attention, multi_head_attention=wrong_multi_head("queries and keys exchanged")
        )
    },
}  # fmt: skip
POST_NORM_BUGS = {
    "memory asked by what has not attended": {"old": "        mid1, memory, scope", "new": "        x, memory, scope"},
    "residual around the memory missing": {"old": "layer_norm(mid1 + asked", "new": "layer_norm(asked"},
    "second residual missing in the backward": {"old": "dsum2 + dmid1_asked", "new": "dmid1_asked"},
    "gradient through the memory's queries missing": {"old": "dsum2 + dmid1_asked", "new": "dsum2"},
    "first residual missing in the backward": {"old": "return dsum1 + dx_attended", "new": "return dx_attended"},
}
PRE_NORM_BUGS = {
    "memory asked by what is not normalised": {
        "old": "        normed2, memory, scope", "new": "        mid1, memory, scope"
    },
    "residual around the memory missing": {"old": "mid2 = mid1 + asked", "new": "mid2 = asked"},
    "second residual missing in the backward": {"old": "dmid1 = dmid2 + dmid1_normed", "new": "dmid1 = dmid1_normed"},
    "gradient through the memory's queries missing": {"old": "dmid2 + dmid1_normed", "new": "dmid2"},
    "first residual missing in the backward": {"old": "return dmid1 + dx_normed", "new": "return dx_normed"},
}  # fmt: skip
SMALL = {"n_batch": 2, "n_target": 4, "n_source": 5, "d_model": 12, "d_ff": 7, "n_head": 3}
MASKED = {"n_batch": 3, "n_target": 5, "n_source": 6, "d_model": 8, "d_ff": 11, "n_head": 2}
WIDE = {"n_batch": 1, "n_target": 64, "n_source": 96, "d_model": 256, "d_ff": 1024, "n_head": 8}
CONFIGS = (
    Config("relu", SMALL, {"n_head": 3}),
    Config(
        "translation", {**MASKED, "mask": "causal", "memory_mask": "padding"},
        {"n_head": 2, "activation": "gelu", "eps": 1e-3},
    ),
    Config(
        "per_head", {**MASKED, "mask": "per head", "memory_mask": "per head"},
        {"n_head": 2, "activation": "gelu_tanh"},
    ),
    Config("unbiased", {**SMALL, "biased": False}, {"n_head": 3, "eps": 1e-12}, profile="full"),
    Config("wide", {**WIDE, "mask": "causal"}, {"n_head": 8, "activation": "gelu"}, measured=True),
)  # fmt: skip

CASES = [
    Case(
        name=f"{order}_norm_decoder_block",
        section="blocks",
        title=f"Decoder block, norm {words}",
        reference=reference,
        inputs=inputs,
        configs=CONFIGS,
        peers={"torch": _torch_block(norm_first=order == "pre")},
        coarse_erf=("torch",),
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=("torch",),
        bugs={
            **{name: rewritten(reference, **edit) for name, edit in {**BUGS, **bugs}.items()},
            "norm in the other place": other,
        },
    )
    for order, words, reference, other, bugs in (
        ("post", "after each sum", post_norm_decoder_block, pre_norm_decoder_block, POST_NORM_BUGS),
        ("pre", "before each part", pre_norm_decoder_block, post_norm_decoder_block, PRE_NORM_BUGS),
    )
]
