"""Flamingo and its parts, against the paper's figures 4 and 5 in plain PyTorch."""

import numpy as np
import torch

from compare.cases.case import Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.encoder_block import block_shapes
from compare.cases.multi_head import attention_shapes
from refimpl.models.flamingo.config import FlamingoConfig

functional = torch.nn.functional
SMALL = FlamingoConfig(
    vocab_size=11, n_position=9, d_model=6, n_head=2, n_layer=3, d_ff=5, every=2, image_id=3, d_visual=8,
    n_visual_head=4, n_visual_layer=2, d_visual_ff=7, n_latent=3, n_time=2,
)  # fmt: skip


def _of(*names, shapes):
    return {f"{name}.{key}": shape for name in names for key, shape in shapes.items()}


def _norm(size):
    return {"weight": (size,), "bias": (size,)}


def _feed(d_model, d_ff):
    return {"linear1.weight": (d_ff, d_model), "linear2.weight": (d_model, d_ff), "linear2.bias": (d_model,)}


def resampler_shapes(d_model, d_ff, n_layer, n_latent, n_time):
    """Shapes of the parameters of a perceiver resampler."""
    block = {
        **_of("norm_features", "norm_latents", "norm_feed", shapes=_norm(d_model)), **_feed(d_model, d_ff),
        **_of("cross_attn", shapes=attention_shapes(d_model, biased=False)),
    }  # fmt: skip
    layers = _of(*(f"layers.{i}" for i in range(n_layer)), shapes=block)
    tables = {"latents": (n_latent, d_model), "times.weight": (n_time, d_model)}
    return {**tables, **layers, **_of("norm", shapes=_norm(d_model))}


def gated_shapes(d_model, d_ff, d_memory):
    """Shapes of the parameters of a gated block; the gates are drawn apart."""
    attention = attention_shapes(d_model, d_key=d_memory, d_value=d_memory, biased=False)
    norms = _of("norm1", "norm2", shapes=_norm(d_model))
    return {**norms, **_of("cross_attn", shapes=attention), **_feed(d_model, d_ff)}


def draw_gates(generator, *prefixes):
    """Draw gates that are half open."""
    gates = [f"{prefix}{gate}" for prefix in prefixes for gate in ("attention_gate", "feed_gate")]
    return {gate: np.asarray(generator.uniform(0.3, 1.0)) for gate in gates}


def flamingo_params(generator, config):
    d_model, d_visual = config.d_model, config.d_visual
    gated = [f"gated.{i}" for i in range(0, config.n_layer, config.every)]
    resampler = resampler_shapes(d_visual, config.d_visual_ff, config.n_visual_layer, config.n_latent, config.n_time)
    shapes = {
        **_of("resampler", shapes=resampler),
        "token.weight": (config.vocab_size, d_model), "position.weight": (config.n_position, d_model),
        **_of(*gated, shapes=gated_shapes(d_model, config.d_ff, d_visual)),
        **_of(*(f"layers.{i}" for i in range(config.n_layer)), shapes=block_shapes(d_model, config.d_ff)),
        **_of("norm", shapes=_norm(d_model)),
    }  # fmt: skip
    return {**normal_params(generator, shapes), **draw_gates(generator, *(f"{name}." for name in gated))}


def inputs(generator, *, config, n_batch, n_seq, n_image, n_time, n_patch):
    token_ids = (config.image_id + generator.integers(1, config.vocab_size, (n_batch, n_seq))) % config.vocab_size
    for row in token_ids[1:]:  # the first text shows nothing
        row[generator.permutation(n_seq - 1)[:n_image] + 1] = config.image_id
    features = normal(generator, n_batch, n_image, n_time, n_patch, config.d_visual)
    return Inputs((features, token_ids, flamingo_params(generator, config)))


def resampler_inputs(generator, *, shape, d_ff, n_layer, n_latent, n_time):
    shapes = resampler_shapes(shape[-1], d_ff, n_layer, n_latent, n_time)
    return Inputs((normal(generator, *shape), normal_params(generator, shapes)))


def gated_inputs(generator, *, n_batch, n_query, n_key, d_model, d_memory, d_ff, masked):
    x, memory = normal(generator, n_batch, n_query, d_model), normal(generator, n_batch, n_key, d_memory)
    params = {**normal_params(generator, gated_shapes(d_model, d_ff, d_memory)), **draw_gates(generator, "")}
    mask = generator.random((n_batch, 1, n_query, n_key)) < 0.5
    mask[:, :, 0] = False  # before the first image
    return Inputs((x, memory, params), {"memory_mask": mask} if masked else {})


def _under(params, prefix):
    return {key.removeprefix(prefix): x for key, x in params.items() if key.startswith(prefix)}


def torch_norm(x, params, name, eps):
    return functional.layer_norm(x, x.shape[-1:], params[f"{name}.weight"], params[f"{name}.bias"], eps)


def torch_attend(x, memory, params, n_head, mask=None):
    """Multi-head attention by its definition; a query that sees nothing gathers 0."""
    weights = params["in_proj_weight"].chunk(3) if "in_proj_weight" in params else [
        params[f"{name}_proj_weight"] for name in "qkv"
    ]  # fmt: skip
    q, k, v = (
        functional.linear(each, weight).unflatten(-1, (n_head, -1)).transpose(1, 2)
        for each, weight in zip((x, memory, memory), weights, strict=True)
    )
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        nothing = ~mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~(mask | nothing), -torch.inf)
    weighed = torch.softmax(scores, -1) @ v
    gathered = weighed if mask is None else weighed.masked_fill(nothing, 0.0)
    return functional.linear(gathered.transpose(1, 2).flatten(2), params["out_proj.weight"])


def torch_feed(x, params):
    wide = functional.linear(x, params["linear1.weight"], params.get("linear1.bias"))
    return functional.linear(torch.relu(wide) ** 2, params["linear2.weight"], params["linear2.bias"])


def torch_resampler(features, params, *, n_layer, n_head, eps=1e-5):
    n_time = features.shape[1]
    x_f = (features + params["times.weight"][:n_time, None]).flatten(1, 2)
    x = params["latents"].expand(len(features), -1, -1)
    for i in range(n_layer):
        own = _under(params, f"layers.{i}.")
        normed = torch_norm(x, own, "norm_latents", eps)
        asked = torch.cat([torch_norm(x_f, own, "norm_features", eps), normed], dim=1)
        x = x + torch_attend(normed, asked, _under(own, "cross_attn."), n_head)
        x = x + torch_feed(torch_norm(x, own, "norm_feed", eps), own)
    return torch_norm(x, params, "norm", eps)


def torch_gated(x, memory, params, *, n_head, eps=1e-5, memory_mask=None):
    y = torch_attend(torch_norm(x, params, "norm1", eps), memory, _under(params, "cross_attn."), n_head, memory_mask)
    mid = x + torch.tanh(params["attention_gate"]) * y
    return mid + torch.tanh(params["feed_gate"]) * torch_feed(torch_norm(mid, params, "norm2", eps), params)
