"""GPT-1 and GPT-2 of `transformers`, called with our parameters."""

from functools import cache

import torch

from refimpl.checkpoints.families.gpt.names import GPT_NAMES, gpt_model_type
from refimpl.checkpoints.families.gpt.settings import gpt_config_to_hf
from refimpl.checkpoints.name_map import split_rows


@cache
def gpt_model(config, groups=frozenset()):
    """Build a GPT of `transformers` without weights.

    Parameters
    ----------
    config : GptConfig
        Our sizes and settings.
    groups : frozenset of str, optional
        The part that comes on top of the backbone, as the name map calls it.

    Returns
    -------
    torch.nn.Module
        The model on the meta device, in evaluation mode: it holds no numbers, so none can leak in.
    """
    import transformers  # takes seconds to import

    model_type = gpt_model_type(config)
    # Eager attention would let padding attend to everything, where it attends to nothing here and in "sdpa".
    attention = {"attn_implementation": "sdpa"} if model_type == "gpt2" else {}
    settings = {**gpt_config_to_hf(config, groups), **attention}
    their_config = {"gpt2": transformers.GPT2Config, "openai-gpt": transformers.OpenAIGPTConfig}[model_type]
    with torch.device("meta"):
        return getattr(transformers, GPT_NAMES[model_type].architectures[groups])(their_config(**settings)).eval()


def call_gpt(token_ids, params, *, config, groups=frozenset(), mask=None, position_ids=None, **settings):
    """Run a GPT of `transformers` with our parameters.

    Parameters
    ----------
    token_ids : torch.Tensor, shape (n_batch, n_seq)
        The tokens.
    params : dict of (str, torch.Tensor)
        Our parameters.
    config : GptConfig
        Our sizes and settings.
    groups : frozenset of str, optional
        As for `gpt_model`.
    mask : torch.Tensor of bool, shape (n_batch, n_seq), optional
        True for tokens.
    position_ids : torch.Tensor, shape (n_batch, n_seq), optional
        Where the tokens stand; by default as we count them.
    **settings
        Handed to its forward.

    Returns
    -------
    ModelOutput
        What it returns.
    """
    model = gpt_model(config, groups)
    names = GPT_NAMES[gpt_model_type(config)]
    rows = [row for row in names.filled(config, names.prefix if groups else "") if row.ours in params]
    counted = _positions(token_ids, mask) if position_ids is None else position_ids
    keywords = {
        "input_ids": token_ids,
        "position_ids": counted,
        **({} if mask is None else {"attention_mask": mask.long()}),
        **settings,
    }
    return torch.func.functional_call(model, {**split_rows(params, rows), **_buffers(model, token_ids)}, (), keywords)


def _positions(token_ids, mask):
    """Count tokens as `refimpl.models.gpt.model.text_positions` says, with words of its own."""
    if mask is None:
        return torch.arange(token_ids.shape[1], device=token_ids.device).expand(token_ids.shape)
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def _buffers(model, token_ids):
    """Fill the causal masks that GPT-1 keeps, which have no numbers on the meta device."""
    buffers = {name: buffer for name, buffer in model.named_buffers() if name.endswith("attn.bias")}
    return {name: torch.ones_like(buffer, device=token_ids.device).tril() for name, buffer in buffers.items()}
