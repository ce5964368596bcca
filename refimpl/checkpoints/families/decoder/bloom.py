"""The settings of a Bloom between Hugging Face's config.json and our `DecoderConfig`."""

from refimpl.checkpoints.errors import raise_faults
from refimpl.checkpoints.families.decoder.rotary_decoder import TITLE
from refimpl.checkpoints.families.decoder.settings import decoder_faults, head_faults, with_defaults
from refimpl.models.decoder.families import bloom_config

SIZES = {"vocab_size": "vocab_size", "hidden_size": "d_model", "n_layer": "n_layer", "n_head": "n_head"}
DEFAULTS = {"layer_norm_epsilon": 1e-5, "tie_word_embeddings": True}
ACCEPTED = {"model_type": ("bloom",), "apply_residual_connection_post_layernorm": (None, False)}


def bloom_config_from_hf(settings):
    """Read the settings of a Hugging Face Bloom.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  ``model_type`` and the sizes must be there; what else is absent or null is what it is
        in `transformers`.  Dropout rates and ids of special tokens are no part of the mathematics and not read.

    Returns
    -------
    DecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    given = with_defaults(settings, DEFAULTS)
    expected = {"sizes": SIZES, "accepted": ACCEPTED, "flags": ("tie_word_embeddings",)}
    faults = decoder_faults(settings, given, **expected, eps="layer_norm_epsilon")
    raise_faults(TITLE, faults or head_faults(given, "hidden_size", "n_head"))
    return bloom_config(
        **{ours: given[theirs] for theirs, ours in SIZES.items()},
        norm_eps=float(given["layer_norm_epsilon"]),
        tied=given["tie_word_embeddings"],
    )


def bloom_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `bloom_config_from_hf`.

    Parameters
    ----------
    config : DecoderConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the backbone: "head".

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    return {
        "architectures": ["BloomForCausalLM" if "head" in groups or config.tied else "BloomModel"],
        "model_type": "bloom",
        **{theirs: getattr(config, ours) for theirs, ours in SIZES.items()},
        "layer_norm_epsilon": config.norm.eps,
        "tie_word_embeddings": config.tied,
    }
