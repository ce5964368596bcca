"""Flamingo, its resampler and its gated blocks: the cases."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.encoder import wrong_stack
from compare.cases.flamingo import (
    SMALL,
    _under,
    functional,
    gated_inputs,
    inputs,
    resampler_inputs,
    torch_gated,
    torch_norm,
    torch_resampler,
)
from compare.peers.torch_peer import call_module, meta_module
from refimpl.blocks.gated_cross_block import gated_cross_block
from refimpl.blocks.perceiver import perceiver_block, perceiver_resampler
from refimpl.models.flamingo import model
from refimpl.models.flamingo.model import flamingo, last_shown


def torch_flamingo(features, token_ids, params, *, config):
    n_batch, n_image = features.shape[:2]
    resampler = _under(params, "resampler.")
    shown = torch_resampler(
        features.flatten(0, 1), resampler, n_layer=config.n_visual_layer, n_head=config.n_visual_head
    ).reshape(n_batch, -1, config.d_visual)
    n_seq = token_ids.shape[1]
    n_shown = (token_ids == config.image_id).cumsum(1)[:, None, :, None]
    looks = n_shown == torch.arange(n_image * config.n_latent) // config.n_latent + 1
    layer = meta_module(
        torch.nn.TransformerEncoderLayer, config.d_model, config.n_head, config.d_ff, dropout=0.0, activation="gelu",
        batch_first=True, norm_first=True,
    )  # fmt: skip
    later = torch.ones(n_seq, n_seq, dtype=torch.bool).triu(1)
    x, states = params["token.weight"][token_ids] + params["position.weight"][:n_seq], []
    for i in range(config.n_layer):
        if i % config.every == 0:
            x = torch_gated(x, shown, _under(params, f"gated.{i}."), n_head=config.n_head, memory_mask=looks)
        x = call_module(layer, _under(params, f"layers.{i}."), x, later)
        states.append(x)
    logits = functional.linear(torch_norm(x, params, "norm", config.norm_eps), params["token.weight"])
    return (shown, *states, logits)


def wrong_gated_block(old, new):
    wrong = rewritten(gated_cross_block, old, new)
    return rewritten(flamingo, _blocks=rewritten(model._blocks, gated_cross_block=wrong))


def wrong_block(old, new):
    return rewritten(perceiver_resampler, perceiver_block=rewritten(perceiver_block, old, new))


RESAMPLER = {"d_ff": 7, "n_layer": 2, "n_latent": 3, "n_time": 4}
GATED = {"n_batch": 2, "n_query": 5, "n_key": 4, "d_model": 6, "d_memory": 7, "d_ff": 5}

CASES = [
    Case(
        name="perceiver_resampler",
        section="blocks",
        title="Perceiver resampler (Flamingo)",
        reference=perceiver_resampler,
        inputs=resampler_inputs,
        configs=(
            Config("film", {"shape": (2, 4, 3, 8), **RESAMPLER}, {"n_layer": 2, "n_head": 4}),
            Config("image", {"shape": (3, 1, 5, 6), **RESAMPLER}, {"n_layer": 2, "n_head": 1, "eps": 1e-3}),
        ),
        peers={"torch": torch_resampler},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "times and patches exchanged": rewritten(
                perceiver_resampler, "xp.reshape(timed, (n", "xp.reshape(features * 1.0 + timed[:, :1, :1] * 0.0, (n"
            ),
            "latents do not see each other": wrong_block("_features, normed]", "_features, normed * 0.0]"),
            "latents not normalised": wrong_block("cross_attention(normed, asked", "cross_attention(latents, asked"),
            "plain ReLU": rewritten(perceiver_resampler, "activation=activation", 'activation="relu"'),
            "gradient of the asked latents lost": wrong_block(" + dasked[:, n_feature:]", ""),
            "gradient of the latents not summed": rewritten(
                perceiver_resampler, "xp.sum(dlatents, axis=0)", "dlatents[0]"
            ),
            "gradient of the features from one block": wrong_stack(perceiver_resampler, "shared gradients not added"),
            "residual missing in the backward": wrong_block("dmid = dy + dmid_normed", "dmid = dmid_normed"),
        },
    ),
    Case(
        name="gated_cross_block",
        section="blocks",
        title="Gated cross-attention (Flamingo)",
        reference=gated_cross_block,
        inputs=gated_inputs,
        configs=(
            Config("masked", {**GATED, "masked": True}, {"n_head": 2}),
            Config("open", {**GATED, "masked": False}, {"n_head": 3, "eps": 1e-3}),
        ),
        peers={"torch": torch_gated},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            name: rewritten(gated_cross_block, old, new)
            for name, old, new in (
                ("gates not bent", 'tanh(params["attention_gate"])', '(params["attention_gate"], lambda dy: (dy,))'),
                ("one gate for both", "y = mid + fed * feed_gate", "y = mid + fed * attention_gate"),
                ("residual gated too", "mid = x + asked * attention_gate", "mid = (x + asked) * attention_gate"),
                ("mask forgotten", "mask=memory_mask", "mask=None"),
                ("gradient of a gate without what it lets through", "xp.sum(dy * fed, ", "xp.sum(dy, "),
                ("gradient through the gate not gated", "feed_pullback(dy * feed_gate)", "feed_pullback(dy)"),
                ("gradient of the first gate from the output", "xp.sum(dmid * asked, ", "xp.sum(dy * asked, "),
                ("residual missing in the backward", "return dmid + dx_normed", "return dx_normed"),
            )
        },
    ),
    Case(
        name="flamingo",
        section="models",
        title="Flamingo",
        reference=flamingo,
        inputs=inputs,
        outputs=("shown", *(f"state{i}" for i in range(1, SMALL.n_layer + 1)), "logits"),
        configs=(
            Config(
                "small", {"config": SMALL, "n_batch": 2, "n_seq": 7, "n_image": 2, "n_time": 2, "n_patch": 3},
                {"config": SMALL},
            ),
            Config(
                "images", {"config": SMALL, "n_batch": 3, "n_seq": 9, "n_image": 3, "n_time": 1, "n_patch": 4},
                {"config": SMALL}, profile="full",
            ),
        ),
        peers={"torch": torch_flamingo},
        coarse_erf=("torch",),
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "all images before are seen": rewritten(flamingo, last_shown=rewritten(last_shown, "] == xp", "] >= xp")),
            "the image after is seen": rewritten(
                flamingo, last_shown=rewritten(last_shown, "xp.arange(1, n_image + 1)", "xp.arange(n_image)")
            ),
            "gate shut": wrong_gated_block("asked * attention_gate\n", "asked * 0.0\n"),
            "gradient of the images from the last gated block": rewritten(
                flamingo, _blocks=rewritten(model._blocks, "add_gradients(dshown, dshown_here)", "dshown_here")
            ),
            "tied head not in the gradient": rewritten(flamingo, ' + dhead["weight"]', ""),
            "gradient of the last state lost": rewritten(flamingo, "add_gradients(dstates[-1], dlast)", "dlast"),
            "gradient of the images themselves lost": rewritten(
                flamingo, "add_gradients(dshown_here, dshown)", "dshown"
            ),
            "target sees what comes": rewritten(flamingo, _blocks=rewritten(model._blocks, "mask=causal", "mask=None")),
        },
    ),
]  # fmt: skip
