"""Encoder blocks, normalising after or before, against `torch.nn.TransformerEncoderLayer`."""

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.feed_forward import TORCH_ACTIVATIONS, always, feed_shapes
from compare.cases.multi_head import MULTI_HEAD_BUGS, attention_shapes, torch_mask, wrong_multi_head
from compare.peers.torch_peer import call_module, meta_module
from refimpl.attention.multi_head import self_attention
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.gelu import gelu_tanh
from refimpl.layers.layer_norm import layer_norm


def block_shapes(d_model, d_ff, *, biased=True):
    """Shapes of the parameters, as `torch.nn.TransformerEncoderLayer` names them."""
    keys = ("weight", "bias") if biased else ("weight",)
    return {
        **{f"self_attn.{key}": shape for key, shape in attention_shapes(d_model, biased=biased).items()},
        **feed_shapes(d_model, d_ff, biased=biased),
        **{f"{norm}.{key}": (d_model,) for norm in ("norm1", "norm2") for key in keys},
    }


def inputs(generator, *, n_batch, n_seq, d_model, d_ff, n_head=1, scale=1.0, mask=None, biased=True):
    x = normal(generator, n_batch, n_seq, d_model, scale=scale)
    params = normal_params(generator, block_shapes(d_model, d_ff, biased=biased))
    return Inputs(
        (x, params), {} if mask is None else {"mask": draw_mask(generator, mask, (n_batch, n_head), n_seq, n_seq)}
    )


def torch_layer(d_model, d_ff, *, n_head, activation, eps, biased, norm_first=False):
    """Build a layer without weights; its inference fast path is off, for it asks for gradients."""
    return meta_module(
        torch.nn.TransformerEncoderLayer, d_model, n_head, d_ff, dropout=0.0, layer_norm_eps=eps, batch_first=True,
        activation=TORCH_ACTIVATIONS[activation], norm_first=norm_first, bias=biased,
    )  # fmt: skip


def _torch_block(norm_first):
    def torch_block(x, params, *, n_head, activation="relu", eps=1e-5, mask=None):
        n_batch, n_seq, d_model = x.shape
        layer = torch_layer(
            d_model, len(params["linear1.weight"]), n_head=n_head, activation=activation, eps=eps,
            biased="linear1.bias" in params, norm_first=norm_first,
        )  # fmt: skip
        return call_module(layer, params, x, torch_mask(mask, (n_batch, n_head, n_seq, n_seq)))

    return torch_block


UNBIASED_VARIANCE = rewritten(
    layer_norm,
    "variance = xp.mean(centred * centred, axis=-1, keepdims=True)",
    "variance = xp.sum(centred * centred, axis=-1, keepdims=True) / (x.shape[-1] - 1)",
)
NO_MEAN_TERM = rewritten(layer_norm, "g - along_one - x_hat", "g - x_hat")
BLOCK_BUGS = {
    "unbiased variance": {"layer_norm": UNBIASED_VARIANCE},
    "norm gradient without its mean term": {"layer_norm": NO_MEAN_TERM},
    "tanh GELU for erf GELU": {"feed_forward": rewritten(feed_forward, activation_named=always(gelu_tanh))},
    "second norm with the weights of the first": {"old": 'scope(params, "norm2.")', "new": 'scope(params, "norm1.")'},
    "eps of the checkpoint ignored": {"layer_norm": lambda x, params, *, eps: layer_norm(x, params, eps=1e-5)},
    **{
        name: {"self_attention": rewritten(self_attention, multi_head_attention=wrong_multi_head(name))}
        for name in MULTI_HEAD_BUGS
        if "dropout" not in name
    },
}
CONFIGS = (
    Config("relu", {"n_batch": 2, "n_seq": 5, "d_model": 12, "d_ff": 7}, {"n_head": 3}),
    Config(
        "padding",
        {"n_batch": 3, "n_seq": 6, "n_head": 2, "d_model": 8, "d_ff": 11, "mask": "padding"},
        {"n_head": 2, "activation": "gelu"},
    ),
    Config(
        "causal",
        {"n_batch": 2, "n_seq": 4, "d_model": 9, "d_ff": 6, "scale": 0.05, "mask": "causal"},
        {"n_head": 3, "activation": "gelu", "eps": 1e-3},
    ),
    Config(
        "per_head",
        {"n_batch": 2, "n_seq": 5, "n_head": 4, "d_model": 8, "d_ff": 10, "mask": "per head"},
        {"n_head": 4, "activation": "gelu_tanh", "eps": 1e-12},
    ),
    Config("unbiased", {"n_batch": 3, "n_seq": 4, "d_model": 5, "d_ff": 8, "biased": False}, {"n_head": 1}),
    Config(
        "large", {"n_batch": 2, "n_seq": 4, "d_model": 6, "d_ff": 5, "scale": 8.0}, {"n_head": 2, "activation": "gelu"}
    ),
    Config(
        "wide",
        {"n_batch": 1, "n_seq": 128, "d_model": 256, "d_ff": 1024},
        {"n_head": 8, "activation": "gelu"},
        measured=True,
    ),
)

CASES = [
    Case(
        name="post_norm_block",
        section="blocks",
        title="Encoder block, norm after the residual sum",
        reference=post_norm_block,
        inputs=inputs,
        configs=CONFIGS,
        peers={"torch": _torch_block(norm_first=False)},
        coarse_erf=("torch",),
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=("torch",),
        bugs={
            **{name: rewritten(post_norm_block, **edit) for name, edit in BLOCK_BUGS.items()},
            "norm before the residual sum": pre_norm_block,
            "residual missing in the backward": rewritten(
                post_norm_block, "dmid = dsum2 + dmid_fed", "dmid = dmid_fed"
            ),
            "first residual missing in the backward": rewritten(
                post_norm_block, "return dsum1 + dx_attended", "return dx_attended"
            ),
            "residual from before the first norm": rewritten(
                post_norm_block, "layer_norm(mid + fed", "layer_norm(x + fed"
            ),
        },
    ),
    Case(
        name="pre_norm_block",
        section="blocks",
        title="Encoder block, norm before each sub-layer",
        reference=pre_norm_block,
        inputs=inputs,
        configs=CONFIGS,
        peers={"torch": _torch_block(norm_first=True)},
        coarse_erf=("torch",),
        bugs={
            **{name: rewritten(pre_norm_block, **edit) for name, edit in BLOCK_BUGS.items()},
            "norm after the residual sum": post_norm_block,
            "residual missing in the backward": rewritten(
                pre_norm_block, "dmid = dy + dmid_normed", "dmid = dmid_normed"
            ),
            "residual from the normalised input": rewritten(
                pre_norm_block, "mid = x + attended", "mid = normed1 + attended"
            ),
        },
    ),
]
