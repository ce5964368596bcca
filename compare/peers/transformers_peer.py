"""Models of `transformers`, called with our parameters."""

from functools import cache

import torch

from refimpl.checkpoints import bert_config_to_hf
from refimpl.checkpoints.families.bert.names import BERT_NAMES
from refimpl.checkpoints.name_map import split_rows


@cache
def bert_model(class_name, config, groups=frozenset({"pooler"}), attention="eager"):
    """Build a BERT of `transformers` without weights.

    Parameters
    ----------
    class_name : str
        Such as ``"BertForPreTraining"``.
    config : BertConfig
        Our sizes and settings.
    groups : frozenset of str
        The groups of parameters beside the encoder, as the name map calls them.
    attention : {"eager", "sdpa"}, optional
        How its attention is computed.

    Returns
    -------
    torch.nn.Module
        The model on the meta device, in evaluation mode: it holds no numbers, so none can leak in.
    """
    import transformers  # takes seconds to import

    settings = bert_config_to_hf(config, groups)
    their_config = transformers.BertConfig(**settings, attn_implementation=attention)
    bare = {"add_pooling_layer": False} if class_name == "BertModel" and "pooler" not in groups else {}
    with torch.device("meta"):
        return getattr(transformers, class_name)(their_config, **bare).eval()


def their_names(params, config, prefix=BERT_NAMES.prefix):
    """Rename and split our parameters by the name map of the checkpoints.

    Parameters
    ----------
    params : dict of (str, torch.Tensor)
        Our parameters.
    config : BertConfig
        Our sizes.
    prefix : str, optional
        ``"bert."`` for models with a head, else empty.

    Returns
    -------
    dict of (str, torch.Tensor)
        Views of the parameters, through which gradients flow back.
    """
    return split_rows(params, [row for row in BERT_NAMES.filled(config, prefix) if row.ours in params])


def call_bert(model, params, token_ids, segment_ids, mask=None, **settings):
    """Run a BERT of `transformers` with our parameters.

    Parameters
    ----------
    model : torch.nn.Module
        As `bert_model` builds it.
    params : dict of (str, torch.Tensor)
        Its parameters, by its own names.
    token_ids, segment_ids : torch.Tensor, shape (n_batch, n_seq)
        The ids.
    mask : torch.Tensor of bool, shape (n_batch, 1, 1, n_seq), optional
        Our padding mask.
    **settings
        Handed to its forward.

    Returns
    -------
    ModelOutput
        What it returns.
    """
    keywords = {
        "input_ids": token_ids,
        "token_type_ids": segment_ids,
        # Given, for the model's own positions are a buffer without numbers, like everything on the meta device.
        "position_ids": torch.arange(token_ids.shape[1], device=token_ids.device)[None],
        **({} if mask is None else {"attention_mask": mask[:, 0, 0].long()}),
        **settings,
    }
    return torch.func.functional_call(model, params, (), keywords)
