"""BERT, RoBERTa, DistilBERT and ALBERT of `transformers`, called with our parameters."""

from functools import cache

import torch

from refimpl.checkpoints.families.bert.settings import RELATIVES, config_to_hf
from refimpl.checkpoints.name_map import split_rows


@cache
def relative_model(class_name, model_type, config):
    """Build one without weights.

    Parameters
    ----------
    class_name : str
        Such as ``"RobertaForMaskedLM"``.
    model_type : {"bert", "roberta", "distilbert", "albert"}
        Its family.
    config : BertConfig
        Our sizes and settings.

    Returns
    -------
    torch.nn.Module
        The model on the meta device, in evaluation mode: it holds no numbers, so none can leak in.
    """
    import transformers  # takes seconds to import

    settings = config_to_hf(config, (), model_type=model_type)
    their_config = transformers.AutoConfig.for_model(**settings)
    their_config._attn_implementation = "eager"
    bare = class_name.endswith("Model") and model_type != "distilbert"
    with torch.device("meta"):
        return getattr(transformers, class_name)(their_config, **({"add_pooling_layer": False} if bare else {})).eval()


def call_relative(class_name, model_type, token_ids, segment_ids, params, *, config, mask=None):
    """Run one.

    Parameters
    ----------
    class_name, model_type : str
        As for `relative_model`.
    token_ids : torch.Tensor, shape (n_batch, n_seq)
        Tokens.
    segment_ids : torch.Tensor, shape (n_batch, n_seq), or None
        Segments.
    params : dict of (str, torch.Tensor)
        Our parameters.
    config : BertConfig
        Our sizes and settings.
    mask : torch.Tensor of bool, shape (n_batch, 1, 1, n_seq), optional
        Our padding mask.

    Returns
    -------
    ModelOutput
        What it returns, all hidden states among it.
    """
    names = RELATIVES[model_type].names
    prefix = "" if class_name.endswith("Model") else names.prefix
    theirs = split_rows(params, [row for row in names.filled(config, prefix) if row.ours in params])
    keywords = {
        "input_ids": token_ids,
        "output_hidden_states": True,
        **({} if segment_ids is None else {"token_type_ids": segment_ids}),
        **({} if mask is None else {"attention_mask": mask[:, 0, 0].long()}),
    }
    if not config.positions_after_padding:
        # Given, for the model's own positions are a buffer without numbers, like everything on the meta device.
        keywords["position_ids"] = torch.arange(token_ids.shape[1])[None]
    model = relative_model(class_name, model_type, config)
    return torch.func.functional_call(model, theirs, (), keywords)


def peer(class_name, model_type, *outputs):
    """Make a peer of a model.

    Parameters
    ----------
    class_name, model_type : str
        As for `relative_model`.
    *outputs : str
        Which of its outputs.

    Returns
    -------
    callable
        ``peer(token_ids, segment_ids, params, *, config, mask=None)``.
    """

    def model(token_ids, segment_ids, params, *, config, mask=None):
        found = call_relative(class_name, model_type, token_ids, segment_ids, params, config=config, mask=mask)
        parts = [found[output] for output in outputs]
        return parts[0] if len(parts) == 1 else tuple(parts)

    return model
