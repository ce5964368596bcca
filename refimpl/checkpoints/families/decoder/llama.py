"""The settings of a Llama or a Mistral between Hugging Face's config.json and our `DecoderConfig`."""

from refimpl.checkpoints.families.decoder.rotary_decoder import read_rotary_decoder, rotary_decoder_to_hf
from refimpl.models.decoder.config import PROJECTIONS
from refimpl.models.decoder.families import llama_config

BIASES = {"attention_bias": False, "mlp_bias": False}


def llama_config_from_hf(settings):
    """Read the settings of a Hugging Face Llama.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  ``model_type`` and the sizes must be there, but for ``num_key_value_heads`` and
        ``head_dim``; what else is absent or null is what it is in `transformers`.  Dropout rates and ids of special
        tokens are no part of the mathematics and not read.

    Returns
    -------
    DecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    accepted = {"model_type": ("llama",), "sliding_window": (None,)}
    given, ours = read_rotary_decoder(settings, own=BIASES, accepted=accepted, flags=BIASES)
    return llama_config(
        **ours, biased=PROJECTIONS if given["attention_bias"] else (), feed_bias=given["mlp_bias"]
    )


def llama_config_to_hf(config, groups):
    """Write our settings as those of a Llama, the inverse of `llama_config_from_hf`.

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
    biases = {"attention_bias": bool(config.biased), "mlp_bias": config.feeds[0].bias}
    return {**_common(config, groups, model_type="llama", classes="Llama"), **biases}


def mistral_config_from_hf(settings):
    """Read the settings of a Hugging Face Mistral.

    Parameters
    ----------
    settings : dict of str to object
        As for `llama_config_from_hf`; where ``sliding_window`` is absent it is 4096, where it is null there is none.

    Returns
    -------
    DecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    unbiased = dict.fromkeys(BIASES, (None, False))
    accepted = {"model_type": ("mistral",), "layer_types": (None,), **unbiased}
    own = {"sliding_window": 4096, "num_key_value_heads": 8}
    given, ours = read_rotary_decoder(settings, own=own, accepted=accepted)
    return llama_config(**ours, window=given.get("sliding_window"))


def mistral_config_to_hf(config, groups):
    """Write our settings as those of a Mistral, the inverse of `mistral_config_from_hf`.

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
    return {**_common(config, groups, model_type="mistral", classes="Mistral"), "sliding_window": config.window}


def _common(config, groups, **names):
    feed = config.feeds[0]
    return rotary_decoder_to_hf(config, groups, **names, d_ff=feed.d_ff, activation=feed.activation)
