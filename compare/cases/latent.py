"""Multi-head latent attention, as it is written and absorbed, against DeepSeek's of `transformers`."""

from functools import cache, partial

import torch

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.grouped_query_layer import added_mask, cos_sin
from compare.peers.torch_peer import call_module
from refimpl.attention.latent import layer
from refimpl.attention.latent.layer import absorbed_latent_attention, latent_attention
from refimpl.layers.rms_norm import rms_norm
from refimpl.positions.rotary import rotary


def latent_shapes(d_model, *, n_head, d_nope, d_rope, d_value, d_latent, d_low=None, biased=False):
    """Shapes of the parameters, as DeepSeek names them; d_low is the size of the latent of the queries."""
    d_query = n_head * (d_nope + d_rope)
    low = {
        "q_a_proj.weight": (d_low, d_model),
        "q_a_layernorm.weight": (d_low,),
        "q_b_proj.weight": (d_query, d_low),
    }
    biases = {"kv_a_proj_with_mqa.bias": (d_latent + d_rope,), "o_proj.bias": (d_model,)}
    return {
        **({"q_proj.weight": (d_query, d_model)} if d_low is None else low),
        "kv_a_proj_with_mqa.weight": (d_latent + d_rope, d_model),
        "kv_a_layernorm.weight": (d_latent,),
        "kv_b_proj.weight": (n_head * (d_nope + d_value), d_latent),
        "o_proj.weight": (d_model, n_head * d_value),
        **(biases if biased else {}),
        **({"q_a_proj.bias": (d_low,)} if biased and d_low else {}),
    }


def inputs(generator, *, n_batch, n_seq, d_model, n_head, mask="causal", **sizes):
    x = normal(generator, n_batch, n_seq, d_model)
    params = normal_params(generator, latent_shapes(d_model, n_head=n_head, **sizes))
    return Inputs((x, params), {"mask": draw_mask(generator, mask, (n_batch, n_head), n_seq, n_seq)})


@cache
def _module(n_head, d_model, d_nope, d_rope, d_value, d_latent, d_low, biased, eps):
    from transformers import DeepseekV3Config  # takes seconds to import
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

    config = DeepseekV3Config(
        hidden_size=d_model, num_attention_heads=n_head, num_key_value_heads=n_head, qk_nope_head_dim=d_nope,
        qk_rope_head_dim=d_rope, v_head_dim=d_value, kv_lora_rank=d_latent, q_lora_rank=d_low, attention_bias=biased,
        attn_implementation="sdpa",
    )  # fmt: skip
    with torch.device("meta"):
        module = DeepseekV3Attention(config, 0)
        # Its own norm computes in float32 even of float64.
        for name, size in {"q_a_layernorm": d_low, "kv_a_layernorm": d_latent}.items():
            if size is not None:
                setattr(module, name, torch.nn.RMSNorm(size, eps))
        return module.eval()


def transformers_latent(x, params, *, n_head, mask, rotate, eps=1e-6):
    d_latent = len(params["kv_a_layernorm.weight"])
    d_rope = len(params["kv_a_proj_with_mqa.weight"]) - d_latent
    queries = params["q_b_proj.weight"] if "q_b_proj.weight" in params else params["q_proj.weight"]
    d_nope = len(queries) // n_head - d_rope
    d_value = len(params["kv_b_proj.weight"]) // n_head - d_nope
    d_low = queries.shape[1] if "q_b_proj.weight" in params else None
    module = _module(n_head, x.shape[-1], d_nope, d_rope, d_value, d_latent, d_low, "o_proj.bias" in params, eps)
    turns, added = cos_sin(x, d_rope), added_mask(x, mask, n_head)
    return call_module(module, params, x, position_embeddings=turns, attention_mask=added)[0]


def _unnormed(x, params, **settings):
    """Leave the norm out."""
    _, pullback = rms_norm(x, params, **settings)
    return x + 0.0, lambda dy: (dy + 0.0, pullback(dy)[1])


PARTS = {
    "latent of the keys is not normalised": {"_compressed": rewritten(layer._compressed, rms_norm=_unnormed)},
    "latent of the queries is not normalised": {
        "_queries": rewritten(layer._queries, _low_rank=rewritten(layer._low_rank, rms_norm=_unnormed))
    },
    "the wrong end of the query is rotated": {
        "_queries": rewritten(
            layer._queries,
            "q = xp.concatenate([q_nope, q_rope], axis=-1)",
            "q = xp.concatenate([q_nope, q_straight[..., ::-1]], axis=-1)",
        )
    },
    "shared key is not rotated": {"_compressed": rewritten(layer._compressed, "rotate=rotate, ", "")},
    "gradient of the rotation forgotten": {
        "_queries": rewritten(layer._queries, "rotated_pullback(dq[..., d_nope:])", "(dq[..., d_nope:],)")
    },
    "gradient of the compressed part lost": {"old": "dx_q + dx_kv", "new": "dx_q"},
}
BUGS = {
    **PARTS,
    "scale without the rotated part": {
        "old": "mask=mask, scale=scale)",
        "new": "mask=mask, scale=d_nope**-0.5 if scale is None else scale)",
    },
    "gradient of the shared key not summed": {
        "old": "xp.sum(dk[..., d_nope:], axis=1, keepdims=True)",
        "new": "dk[:, :1, :, d_nope:]",
    },
    "values before keys": {
        "old": "k_nope, v = xp.split(split_heads(made, n_head), [d_nope], axis=-1)",
        "new": "v, k_nope = xp.split(split_heads(made, n_head), [made.shape[-1] // n_head - d_nope], axis=-1)",
    },
}
ABSORBED_BUGS = {
    **PARTS,
    "scale of the wide query": {
        "old": "1.0 / math.sqrt(d_nope + d_rope) if",
        "new": "1.0 / math.sqrt(d_latent + d_rope) if",
    },
    "gradient of the latent as a value lost": {
        "old": "(dwide_k[..., :d_latent] + dv)[:, 0]",
        "new": "dwide_k[:, 0, :, :d_latent]",
    },
    "gradient of the keys' weight lost": {
        "old": "[dto_key, dto_value]",
        "new": "[0.0 * dto_key, dto_value]",
    },
    "mixed latents not brought to values in their head": {
        "old": 'gathered = xp.einsum("bhnl,hvl->bhnv", mixed, to_value)',
        "new": 'gathered = xp.einsum("bhnl,hvl->bhnv", mixed, to_value[::-1])',
    },
}
SIZES = {"n_head": 3, "d_nope": 4, "d_rope": 2, "d_value": 5, "d_latent": 6}
ROTARY = partial(rotary, layout="interleaved")
WIDE = {"n_head": 8, "d_nope": 32, "d_rope": 16, "d_value": 32, "d_latent": 64}


def _case(name, title, reference, bugs):
    return Case(
        name=name,
        section="attention",
        title=title,
        reference=reference,
        inputs=inputs,
        configs=(
            Config(
                "low_rank",
                {"n_batch": 2, "n_seq": 5, "d_model": 7, **SIZES, "d_low": 8},
                {"n_head": 3, "rotate": ROTARY},
            ),
            Config(
                "straight",
                {"n_batch": 2, "n_seq": 4, "d_model": 9, **SIZES, "biased": True, "mask": "random"},
                {"n_head": 3, "rotate": ROTARY, "eps": 1e-5},
                profile="full",
            ),
            Config(
                "wide",
                {"n_batch": 2, "n_seq": 128, "d_model": 256, **WIDE, "d_low": 96},
                {"n_head": 8, "rotate": ROTARY},
                measured=True,
            ),
        ),
        peers={"transformers": transformers_latent},
        bugs={bug: rewritten(reference, **edit) for bug, edit in bugs.items()},
    )


CASES = [
    _case("latent_attention", "Multi-head latent attention", latent_attention, BUGS),
    _case("absorbed_latent_attention", "Latent attention, absorbed", absorbed_latent_attention, ABSORBED_BUGS),
]
