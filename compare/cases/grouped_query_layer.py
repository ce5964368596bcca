"""A self-attention layer with grouped queries and rotary positions, against those of `transformers`."""

from functools import cache

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.grouped_query import BUGS as GROUPED_BUGS
from compare.peers.torch_peer import call_module
from refimpl.attention.grouped import layer
from refimpl.attention.grouped.layer import grouped_query_self_attention
from refimpl.attention.heads import join_heads
from refimpl.positions.rotary import rotary


def layer_shapes(d_model, *, n_head, n_kv_head, d_head, biased=False):
    """Shapes of the parameters, as Llama names them."""
    sizes = {"q_proj": n_head * d_head, "k_proj": n_kv_head * d_head, "v_proj": n_kv_head * d_head}
    weights = {f"{key}.weight": (size, d_model) for key, size in sizes.items()}
    biases = {f"{key}.bias": (size,) for key, size in {**sizes, "o_proj": d_model}.items()} if biased else {}
    return {**weights, "o_proj.weight": (d_model, n_head * d_head), **biases}


def inputs(generator, *, n_batch, n_seq, d_model, n_head, n_kv_head, d_head, biased=False, mask="causal", padded=False):
    x = normal(generator, n_batch, n_seq, d_model)
    shapes = layer_shapes(d_model, n_head=n_head, n_kv_head=n_kv_head, d_head=d_head, biased=biased)
    masks = {"mask": draw_mask(generator, mask, (n_batch, n_head), n_seq, n_seq)}
    if padded:
        n_padding = generator.permutation(n_seq - 1)[:n_batch, None]
        masks["positions"] = (generator.integers(0, 1, (n_batch, n_seq)) + range(n_seq) - n_padding).clip(0)
    return Inputs((x, normal_params(generator, shapes)), masks)


@cache
def _module(biased, n_head, n_kv_head, d_model, d_head):
    import transformers  # takes seconds to import
    from transformers.models.llama.modeling_llama import LlamaAttention
    from transformers.models.mistral.modeling_mistral import MistralAttention

    sizes = {"hidden_size": d_model, "num_attention_heads": n_head, "num_key_value_heads": n_kv_head}
    # Its eager form takes the softmax in float32 even of float64.
    settings = {**sizes, "head_dim": d_head, "attn_implementation": "sdpa"}
    with torch.device("meta"):
        if biased:
            return LlamaAttention(transformers.LlamaConfig(attention_bias=True, **settings), 0).eval()
        return MistralAttention(transformers.MistralConfig(**settings), 0).eval()


def cos_sin(x, d_rotary, positions=None):
    """Cosines and sines as `transformers` hands them to attention: the half layout, base 10000."""
    ids = torch.arange(x.shape[1])[None] if positions is None else positions
    frequencies = 10000.0 ** (-torch.arange(0, d_rotary, 2, dtype=torch.float64) / d_rotary)
    angles = (ids[..., None] * frequencies).repeat(1, 1, 2)
    return torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)


def added_mask(x, mask, n_head):
    """Give a mask the form of `transformers`: minus infinity is added where nothing is attended."""
    n_batch, n_seq, _ = x.shape
    return torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~mask, -torch.inf).expand(n_batch, n_head, n_seq, n_seq)


def transformers_layer(x, params, *, n_head, n_kv_head, rotate=None, mask=None, positions=None):
    d_head = len(params["q_proj.weight"]) // n_head
    module = _module("q_proj.bias" in params, n_head, n_kv_head, x.shape[-1], d_head)
    cos, sin = cos_sin(x, d_head, positions)
    unturned = (torch.ones_like(cos), torch.zeros_like(sin))
    turns = unturned if rotate is None else (cos, sin)
    return call_module(module, params, x, position_embeddings=turns, attention_mask=added_mask(x, mask, n_head))[0]


def backwards(heads):
    """Lay the features of the heads side by side in the wrong order."""
    return join_heads(heads[:, ::-1])


LAYER_BUGS = {
    "values are rotated too": {
        "old": 'scope(params, "v_proj."), n_kv_head)',
        "new": 'scope(params, "v_proj."), n_kv_head, rotate, positions)',
    },
    "keys are not rotated": {
        "old": 'scope(params, "k_proj."), n_kv_head, rotate, positions)',
        "new": 'scope(params, "k_proj."), n_kv_head)',
    },
    "positions of the first row for all": {
        "_heads": rewritten(
            layer._heads, "positions=positions", "positions=None if positions is None else positions[:1]"
        )
    },
    "heads in reverse order": {"join_heads": backwards},
    "gradient of the rotation forgotten": {
        "_heads": rewritten(layer._heads, "rotated_pullback(dheads)", "(dheads,)")
    },
    "gradient of the keys lost": {"old": "dx_q + dx_k + dx_v", "new": "dx_q + dx_v"},
    "mask ignored": {"old": "q, k, v, bias, mask=mask", "new": "q, k, v, bias, mask=None"},
    **{
        name: {"grouped_query_attention": GROUPED_BUGS[name]}
        for name in ("scale by d", "heads tiled instead of repeated")
    },
}

CASES = [
    Case(
        name="grouped_query_self_attention",
        section="attention",
        title="Grouped-query self-attention",
        reference=grouped_query_self_attention,
        inputs=inputs,
        configs=(
            Config(
                "rotary",
                {"n_batch": 3, "n_seq": 5, "d_model": 7, "n_head": 4, "n_kv_head": 2, "d_head": 6, "padded": True},
                {"n_head": 4, "n_kv_head": 2, "rotate": rotary},
            ),
            Config(
                "biased",
                {"n_batch": 2, "n_seq": 4, "d_model": 6, "n_head": 3, "n_kv_head": 1, "d_head": 4, "biased": True},
                {"n_head": 3, "n_kv_head": 1},
            ),
            Config(
                "per_head",
                {"n_batch": 2, "n_seq": 5, "d_model": 8, "n_head": 6, "n_kv_head": 3, "d_head": 2, "mask": "per head"},
                {"n_head": 6, "n_kv_head": 3, "rotate": rotary},
                profile="full",
            ),
            Config(
                "wide",
                {"n_batch": 2, "n_seq": 128, "d_model": 256, "n_head": 8, "n_kv_head": 2, "d_head": 32},
                {"n_head": 8, "n_kv_head": 2, "rotate": rotary},
                measured=True,
            ),
        ),
        peers={"transformers": transformers_layer},
        bugs={name: rewritten(grouped_query_self_attention, **edit) for name, edit in LAYER_BUGS.items()},
    )
]
