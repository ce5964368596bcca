"""Decoder-only models of `transformers`, called with our parameters."""

from contextlib import nullcontext
from functools import cache

import torch

from compare.peers.float64_throughout import Float64Throughout
from refimpl.checkpoints.families import family_named
from refimpl.checkpoints.name_map import split_rows


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
    names = family_named(model_type).names
    rows = [row for row in names.filled(config, names.prefix if headed else "") if row.ours in params]
    keywords = {
        "input_ids": token_ids,
        "attention_mask": None if mask is None else mask.long(),
        "use_cache": False,
        **settings,
    }
    wide = params["norm.weight"].dtype == torch.float64
    with Float64Throughout() if wide else nullcontext():
        model = _model(model_type, config, headed, wide)
        return torch.func.functional_call(model, split_rows(params, rows), (), keywords)


@cache
def _model(model_type, config, headed, wide):
    """Build a model; its random weights are all replaced, the frequencies that it computes are its own."""
    import transformers  # takes seconds to import

    settings = family_named(model_type).config_to_hf(config, {"head"})
    # Its eager attention takes the softmax in float32.
    their_config = transformers.AutoConfig.for_model(**settings, attn_implementation="sdpa")
    auto = transformers.AutoModelForCausalLM if headed else transformers.AutoModel
    return auto.from_config(their_config).eval()
