"""Any model of `transformers` that loads from a folder, called with our parameters."""

from functools import cache

import torch

from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.name_map import split_rows


@cache
def family_model(model_type, config, groups=frozenset(), **settings):
    """Build a model of `transformers` without weights.

    Parameters
    ----------
    model_type : str
        Its family, a key of `refimpl.checkpoints.families.registry.FAMILIES`.
    config : object
        Our sizes and settings, of the family's class.
    groups : frozenset of str
        The groups of parameters beside the required ones, as the name map calls them.
    **settings
        Further settings of its configuration; by default attention is computed eagerly.

    Returns
    -------
    torch.nn.Module
        The model on the meta device, in evaluation mode: it holds no numbers, so none can leak in.
    """
    import transformers  # takes seconds to import

    said = FAMILIES[model_type].config_to_hf(config, groups)
    theirs = transformers.AutoConfig.for_model(**{"attn_implementation": "eager", **said, **settings})
    with torch.device("meta"):
        model = getattr(transformers, said["architectures"][0])(theirs).eval()
    _untie(model, names_of(model_type, config, groups))
    return model


def call_family(model_type, params, config, *, further=None, **keywords):
    """Run a model of `transformers` with our parameters.

    Parameters
    ----------
    model_type : str
        Its family.
    params : dict of (str, torch.Tensor)
        Our parameters; which of them are there says which class of `transformers` it is.
    config : object
        Our sizes and settings.
    further : dict of (str, torch.Tensor), optional
        Constants that the model keeps as parameters or buffers, by its own names.
    **keywords
        Handed to its forward; None is left out.

    Returns
    -------
    ModelOutput
        What it returns.
    """
    groups = FAMILIES[model_type].names.groups_of(params, config)
    theirs = split_rows(params, names_of(model_type, config, groups))
    given = {name: value for name, value in keywords.items() if value is not None}
    model = family_model(model_type, config, groups)
    return torch.func.functional_call(model, {**theirs, **(further or {})}, (), given)


def names_of(model_type, config, groups):
    """List the part of a family's name map that a model has.

    Parameters
    ----------
    model_type : str
        Its family.
    config : object
        Our sizes and settings.
    groups : frozenset of str
        The groups of parameters beside the required ones.

    Returns
    -------
    list of Row
        The rows.
    """
    names = FAMILIES[model_type].names
    rows = names.filled(config, names.prefix if groups - names.bare else "")
    return [row for row in rows if row.group in names.required | groups]


def _untie(model, rows):
    """Give a tied parameter an array of its own, where it has a row of its own."""
    seen = set()
    for name in (name for row in rows for name in row.theirs):
        path, _, key = name.rpartition(".")
        module = model.get_submodule(path)
        parameter = getattr(module, key)
        if parameter in seen:
            setattr(module, key, torch.nn.Parameter(torch.empty_like(parameter)))
        seen.add(parameter)
