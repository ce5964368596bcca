"""The families of models that load from a folder: what ``model_type`` of config.json stands for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from refimpl.checkpoints.errors import CheckpointError, raise_faults, shown
from refimpl.checkpoints.families.bert.settings import RELATIVES, config_from_hf, config_to_hf
from refimpl.checkpoints.families.clip.names import CLIP_NAMES
from refimpl.checkpoints.families.clip.settings import clip_config_from_hf, clip_config_to_hf
from refimpl.checkpoints.families.decoder.bloom import bloom_config_from_hf, bloom_config_to_hf
from refimpl.checkpoints.families.decoder.gpt_neox import gpt_neox_config_from_hf, gpt_neox_config_to_hf
from refimpl.checkpoints.families.decoder.llama import (
    llama_config_from_hf,
    llama_config_to_hf,
    mistral_config_from_hf,
    mistral_config_to_hf,
)
from refimpl.checkpoints.families.decoder.mixtures import (
    mixtral_config_from_hf,
    mixtral_config_to_hf,
    qwen2_moe_config_from_hf,
    qwen2_moe_config_to_hf,
)
from refimpl.checkpoints.families.decoder.names import (
    BLOOM_NAMES,
    GPT_NEOX_NAMES,
    LLAMA_NAMES,
    MISTRAL_NAMES,
    MIXTRAL_NAMES,
    QWEN2_MOE_NAMES,
)
from refimpl.checkpoints.families.encoder_decoder.names import encoder_decoder_names
from refimpl.checkpoints.families.encoder_decoder.settings import (
    encoder_decoder_config_from_hf,
    encoder_decoder_config_to_hf,
)
from refimpl.checkpoints.families.gpt.names import GPT_NAMES
from refimpl.checkpoints.families.gpt.settings import gpt_config_from_hf, gpt_config_to_hf
from refimpl.checkpoints.families.longformer.names import LONGFORMER_NAMES
from refimpl.checkpoints.families.longformer.settings import longformer_config_from_hf, longformer_config_to_hf
from refimpl.checkpoints.families.t5.names import T5_NAMES
from refimpl.checkpoints.families.t5.settings import t5_config_from_hf, t5_config_to_hf
from refimpl.checkpoints.families.transformer_xl.names import TRANSFORMER_XL_NAMES
from refimpl.checkpoints.families.transformer_xl.settings import (
    transformer_xl_config_from_hf,
    transformer_xl_config_to_hf,
)
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.names import Names
from refimpl.checkpoints.settings_map import not_accepted, under_first_keys

# What every class of `transformers` may say, and no model of ours has: layers of different sizes.
ACCEPTED = {"per_layer_config": (None, {})}


@dataclass(frozen=True)
class Family:
    """How one family of models is kept in a folder.

    Attributes
    ----------
    names : Names
        What its tensors are called.
    config_from_hf : callable
        ``config_from_hf(settings) -> config``; a `CheckpointError` names every setting that is not supported.
    config_to_hf : callable
        ``config_to_hf(config, groups) -> settings``, its inverse; `groups` are the parts of the model that are there
        beside the required ones.
    """

    names: Names
    config_from_hf: Callable
    config_to_hf: Callable


READERS = {
    **{
        model_type: Family(
            kind.names,
            partial(config_from_hf, model_type=model_type),
            partial(config_to_hf, model_type=model_type),
        )
        for model_type, kind in RELATIVES.items()
    },
    **{
        model_type: Family(
            encoder_decoder_names(model_type),
            encoder_decoder_config_from_hf,
            partial(encoder_decoder_config_to_hf, model_type=model_type),
        )
        for model_type in ("bart", "marian", "pegasus")
    },
    **{model_type: Family(names, gpt_config_from_hf, gpt_config_to_hf) for model_type, names in GPT_NAMES.items()},
    "longformer": Family(LONGFORMER_NAMES, longformer_config_from_hf, longformer_config_to_hf),
    "clip": Family(CLIP_NAMES, clip_config_from_hf, clip_config_to_hf),
    "t5": Family(T5_NAMES, t5_config_from_hf, t5_config_to_hf),
    "llama": Family(LLAMA_NAMES, llama_config_from_hf, llama_config_to_hf),
    "mistral": Family(MISTRAL_NAMES, mistral_config_from_hf, mistral_config_to_hf),
    "mixtral": Family(MIXTRAL_NAMES, mixtral_config_from_hf, mixtral_config_to_hf),
    "qwen2_moe": Family(QWEN2_MOE_NAMES, qwen2_moe_config_from_hf, qwen2_moe_config_to_hf),
    "gpt_neox": Family(GPT_NEOX_NAMES, gpt_neox_config_from_hf, gpt_neox_config_to_hf),
    "bloom": Family(BLOOM_NAMES, bloom_config_from_hf, bloom_config_to_hf),
    "transfo-xl": Family(TRANSFORMER_XL_NAMES, transformer_xl_config_from_hf, transformer_xl_config_to_hf),
}


def _read(read, other_keys, settings):
    known, faults = under_first_keys(settings, other_keys)
    faults = faults + not_accepted(known, ACCEPTED)
    raise_faults("config.json does not describe a model that refimpl has", faults)
    return read(known)


FAMILIES = {
    model_type: replace(
        family, config_from_hf=partial(_read, family.config_from_hf, conventions(model_type).other_keys)
    )
    for model_type, family in READERS.items()
}


def family_named(model_type):
    """Look up a family.

    Parameters
    ----------
    model_type : str
        As config.json says it.

    Returns
    -------
    Family
        The family.

    Raises
    ------
    CheckpointError
        If there is none of this name.
    """
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise CheckpointError(f"model_type must be one of {', '.join(FAMILIES)}, got {shown(model_type)}")
    return FAMILIES[model_type]
