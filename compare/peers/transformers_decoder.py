"""Decoder-only models of `transformers`, called with our parameters."""

from functools import cache

import torch

from compare.peers.float64_throughout import throughout
from refimpl.checkpoints.families.registry import family_named
from refimpl.checkpoints.name_map import split_rows

# What a parameter of theirs is called in a model, where that is not what it is called in a file.
IN_MEMORY = {"embed_out.weight": "lm_head.weight"}


def call_decoder(model_type, params, token_ids, *, config, headed, mask=None, **settings):
    """Run a decoder-only model of `transformers` with our parameters; in float64, in float64 throughout.

    Parameters
    ----------
    model_type : str
        Such as ``"llama"``.
    params : dict of (str, torch.Tensor)
        Our parameters.
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        The tokens.
    config : DecoderConfig
        Our sizes and parts.
    headed : bool
        Whether it is the model with the head.
    mask : torch.Tensor of bool, shape (n_batch, n_seq), optional
        False for padding.
    **settings
        Handed to its forward.

    Returns
    -------
    ModelOutput
        What it returns.
    """
    keywords = {
        "input_ids": token_ids,
        "attention_mask": None if mask is None else mask.long(),
        "use_cache": False,
        **settings,
    }
    dtype = params["norm.weight"].dtype
    with throughout(dtype):
        model = _model(model_type, config, headed, wide=dtype == torch.float64)
        return torch.func.functional_call(model, _their_params(model_type, params, config, headed), (), keywords)


def _their_params(model_type, params, config, headed):
    names = family_named(model_type).names
    prefix = names.prefix if headed else ""
    # In memory the experts are not what they are in the file.
    rows = [row for row in names.filled(config, prefix) if row.ours in params and not _is_routed(row.ours)]
    theirs = {IN_MEMORY.get(name, name): x for name, x in split_rows(params, rows).items()}
    return {**theirs, **_routed(params, prefix)}


def _is_routed(ours):
    return ".router." in ours or ".experts." in ours


def _routed(params, prefix):
    found = {}
    for ours in [key for key in params if key.endswith("router.weight")]:
        layer = ours.removesuffix("feed.router.weight")
        gate, up, down = (params[f"{layer}feed.experts.{key}_proj.weight"] for key in ("gate", "up", "down"))
        found[f"{prefix}{layer}mlp.gate.weight"] = params[ours]
        found[f"{prefix}{layer}mlp.experts.gate_up_proj"] = torch.cat([gate, up], dim=1)
        found[f"{prefix}{layer}mlp.experts.down_proj"] = down
    return found


@cache
def _model(model_type, config, headed, wide):
    """Build a model; its random weights are all replaced, the frequencies that it computes are its own."""
    import transformers  # takes seconds to import

    settings = family_named(model_type).config_to_hf(config, {"head"})
    # Eager attention takes the softmax in float32; Bloom has no other.
    attention = "eager" if model_type == "bloom" else "sdpa"
    their_config = transformers.AutoConfig.for_model(
        **settings, attn_implementation=attention, experts_implementation="eager"
    )
    auto = transformers.AutoModelForCausalLM if headed else transformers.AutoModel
    model = auto.from_config(their_config).eval()
    if model_type == "bloom" and wide:
        # Their own GELU has sqrt(2 / pi) in eight digits, which are all that float32 has.
        for layer in getattr(model, "transformer", model).h:
            layer.mlp.gelu_impl = torch.nn.GELU("tanh")
    return model
