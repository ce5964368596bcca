"""Root mean square normalisation against `torch.nn.functional.rms_norm`, Llama's and Gemma's."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.torch_peer import call_module, meta_module
from refimpl.layers.rms_norm import rms_norm


def inputs(generator, *, shape, scale=1.0, centre=1.0, weighted=True):
    drawn = normal_params(generator, {"weight": shape[-1:]} if weighted else {})
    x = normal(generator, *shape, scale=scale)
    return Inputs((x, {key: centre + value for key, value in drawn.items()}))


def torch_rms_norm(x, params, *, eps=1e-6, weight_offset=0.0, order="scale first"):
    if order == "cast first":
        return torch.nn.functional.rms_norm(x, x.shape[-1:], None, eps) * (params["weight"] + weight_offset)
    if not weight_offset:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], params.get("weight"), eps)
    wide = torch.promote_types(x.dtype, torch.float32)
    scale = weight_offset + params["weight"].to(wide)
    return torch.nn.functional.rms_norm(x.to(wide), x.shape[-1:], scale, eps).to(x.dtype)


def llama_or_gemma(x, params, *, eps=1e-6, weight_offset=0.0, order="scale first"):
    from transformers.models.gemma.modeling_gemma import GemmaRMSNorm  # takes seconds to import
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    module = LlamaRMSNorm if order == "cast first" else GemmaRMSNorm
    return call_module(meta_module(module, x.shape[-1], eps=eps), params, x)


BUGS = {
    "eps outside the root": rewritten(
        rms_norm, "1.0 / xp.sqrt(mean_square + eps)", "1.0 / (xp.sqrt(mean_square) + eps)"
    ),
    "the mean subtracted": rewritten(
        rms_norm, "wide = widen(x)", "wide = widen(x) - xp.mean(widen(x), axis=-1, keepdims=True)"
    ),
    "sum instead of mean": rewritten(rms_norm, "xp.mean(wide * wide", "xp.sum(wide * wide"),
    "gradient without its x_hat term": rewritten(rms_norm, " - x_hat * along_x_hat", ""),
    "gradient of the weight from x": rewritten(rms_norm, "dscaled * normed", "dscaled * wide"),
    "weight without its offset": rewritten(rms_norm, "normed.dtype) + weight_offset", "normed.dtype)"),
    "offset folded twice": rewritten(rms_norm, "normed.dtype) + weight", "normed.dtype) + 2.0 * weight"),
}
OF_TRANSFORMERS = ("weight without its offset", "offset folded twice", "eps outside the root")
COARSE, GEMMA, LLAMA = {"eps": 1e-2}, {"weight_offset": 1.0}, {"order": "cast first"}

CASES = [
    Case(
        name="rms_norm",
        section="layers",
        title="RMS normalisation",
        reference=rms_norm,
        inputs=inputs,
        configs=(
            Config("rank2", {"shape": (5, 24)}, COARSE),
            Config("rank3", {"shape": (3, 5, 16)}, LLAMA),
            Config("rank4", {"shape": (2, 3, 4, 7), "scale": 30.0}, {"eps": 1e-5}),
            Config("offset", {"shape": (6, 10), "centre": 0.0}, GEMMA),
            Config("bare", {"shape": (4, 9), "weighted": False}),
            Config("long", {"shape": (3, 4097)}, LLAMA, profile="full"),
            Config("large", {"shape": (5, 64), "scale": 3e4}, profile="full"),
            Config("tiny", {"shape": (5, 64), "scale": 1e-3}, {**GEMMA, **COARSE}, profile="full"),
            Config("one", {"shape": (2, 3, 1)}, profile="full"),
            Config("wide", {"shape": (8, 128, 384)}, measured=True),
        ),
        peers={"torch": torch_rms_norm},
        bugs=BUGS,
    ),
    Case(
        name="rms_norm_of_models",
        section="layers",
        title="RMS normalisation of Llama and Gemma",
        reference=rms_norm,
        inputs=inputs,
        configs=(
            Config("llama", {"shape": (3, 5, 24)}, {**LLAMA, **COARSE}),
            Config("gemma", {"shape": (3, 5, 16), "centre": 0.0}, {**GEMMA, **COARSE}),
        ),
        peers={"transformers": llama_or_gemma},
        bugs={name: BUGS[name] for name in OF_TRANSFORMERS},
        # Both compute in float32 whatever comes in, which is no float64.
        dtypes=("float32", "float16", "bfloat16"),
    ),
]
