"""Decoder-only models of `transformers`, called with our parameters."""

from contextlib import nullcontext
from functools import cache

import torch

from compare.peers.float64_throughout import Float64Throughout
from refimpl.checkpoints.decoder_names import decoder_rows, decoder_table
from refimpl.checkpoints.name_map import split_rows


def decoder_peer(model_type, config_to_hf, read, *, headed):
    """Make a peer of a family.

    Parameters
    ----------
    model_type : str
        Such as ``"llama"``.
    config_to_hf : callable
        ``config_to_hf(config, groups) -> settings``, as the checkpoints have it.
    read : callable
        ``read(output) -> y``: what is compared of the ModelOutput.
    headed : bool
        Whether the model has a head that gives logits.

    Returns
    -------
    callable
        ``peer(token_ids, params, *, config, mask=None) -> y``.
    """

    def peer(token_ids, params, *, config, mask=None):
        wide = params["norm.weight"].dtype == torch.float64
        prefix = decoder_table(model_type).prefix if headed else ""
        rows = [row for row in decoder_rows(config, model_type, prefix) if row.ours in params]
        keywords = {
            "input_ids": token_ids,
            "attention_mask": None if mask is None else mask.long(),
            "use_cache": False,
            "output_hidden_states": not headed,
        }
        model = _model(config_to_hf, config, headed, wide)
        with Float64Throughout() if wide else nullcontext():
            return read(torch.func.functional_call(model, split_rows(params, rows), (), keywords))

    return peer


@cache
def _model(config_to_hf, config, headed, wide):
    """Build the model.  Its random weights are all replaced; the frequencies that it computes are its own."""
    import transformers  # takes seconds to import

    settings = config_to_hf(config, {"head"})
    # Its eager attention takes the softmax in float32.
    their_config = transformers.AutoConfig.for_model(**settings, attn_implementation="sdpa")
    auto = transformers.AutoModelForCausalLM if headed else transformers.AutoModel
    with Float64Throughout() if wide else nullcontext():
        return auto.from_config(their_config).eval()
