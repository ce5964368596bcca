"""Transformer-XL of `transformers` 4.36.2, called with our parameters in the environment that it needs."""

import torch

from compare.peers.other_environment import Remote
from refimpl.checkpoints.families.transformer_xl.names import TRANSFORMER_XL_NAMES as NAMES
from refimpl.checkpoints.families.transformer_xl.settings import transformer_xl_config_to_hf
from refimpl.checkpoints.name_map import split_rows


def call_transformer_xl(class_name, outputs, token_ids, memory, params, config, labels=None):
    """Run it.

    Parameters
    ----------
    class_name : str
        ``TransfoXLModel`` or ``TransfoXLLMHeadModel``.
    outputs : tuple of str
        Which outputs: ``state{i}``, ``memory``, ``scores``, ``loss``.
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    memory : torch.Tensor, shape (n_layer, n_batch, n_before, d_model)
        What is remembered.
    params : dict of (str, torch.Tensor)
        Ours.
    config : TransformerXLConfig
        Sizes and settings.
    labels : torch.Tensor of int, shape (n_batch, n_seq), optional
        Labels, which the model shifts.

    Returns
    -------
    tuple of torch.Tensor
        The outputs.
    """
    has_head = class_name == "TransfoXLLMHeadModel"
    theirs = split_rows(params, [row for row in NAMES.rows(config) if row.ours in params])
    theirs |= {
        second: theirs[first]
        for second, first in NAMES.tied(config).items()
        if has_head or not second.startswith(NAMES.unprefixed)
    }
    theirs = {NAMES.with_prefix(NAMES.prefix if has_head else "", name): x for name, x in theirs.items()}
    note = {
        "class_name": class_name,
        "settings": transformer_xl_config_to_hf(config),
        "dtype": str(memory.dtype).removeprefix("torch."),
    }
    constants = {"ids": token_ids.numpy()} | ({} if labels is None else {"labels": labels.numpy()})
    names = ("memory", *(f"param:{name}" for name in theirs))
    return Remote.apply(note, constants, names, outputs, memory, *theirs.values())


def backbone(token_ids, memory, params, *, config):
    """Run the model without head.

    Parameters
    ----------
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    memory : torch.Tensor, shape (n_layer, n_batch, n_before, d_model)
        What is remembered.
    params : dict of (str, torch.Tensor)
        Ours.
    config : TransformerXLConfig
        Sizes and settings.

    Returns
    -------
    tuple of torch.Tensor
        All states and the memory.
    """
    outputs = (*(f"state{i}" for i in range(config.n_layer + 1)), "memory")
    return call_transformer_xl("TransfoXLModel", outputs, token_ids, memory, params, config)


def lm(token_ids, memory, params, *, config):
    """Run the language model.

    Parameters
    ----------
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    memory : torch.Tensor, shape (n_layer, n_batch, n_before, d_model)
        What is remembered.
    params : dict of (str, torch.Tensor)
        Ours.
    config : TransformerXLConfig
        Sizes and settings.

    Returns
    -------
    tuple of torch.Tensor
        Log-probabilities and memory.
    """
    return call_transformer_xl("TransfoXLLMHeadModel", ("scores", "memory"), token_ids, memory, params, config)


def loss(token_ids, targets, memory, params, *, config):
    """Run the language model with labels, which it shifts: that of the last token has to be ignored.

    Parameters
    ----------
    token_ids : torch.Tensor of int, shape (n_batch, n_seq)
        Tokens.
    targets : torch.Tensor of int, shape (n_batch, n_seq)
        The token after each, or -100.
    memory : torch.Tensor, shape (n_layer, n_batch, n_before, d_model)
        What is remembered.
    params : dict of (str, torch.Tensor)
        Ours.
    config : TransformerXLConfig
        Sizes and settings.

    Returns
    -------
    tuple of torch.Tensor
        The mean loss and the memory.
    """
    labels = torch.cat([token_ids[:, :1], targets[:, :-1]], 1)
    return call_transformer_xl("TransfoXLLMHeadModel", ("loss", "memory"), token_ids, memory, params, config, labels)
