"""The settings of a Llama or a Mistral between Hugging Face's config.json and our `DecoderConfig`."""

from refimpl.checkpoints.decoder_settings import (
    ACTIVATIONS,
    THEIR_ACTIVATIONS,
    decoder_faults,
    head_faults,
    with_defaults,
)
from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.rotary_settings import rotary_from_hf, rotary_to_hf
from refimpl.models.decoder.config import PROJECTIONS
from refimpl.models.decoder.families import llama_config

SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "d_ff",
    "num_key_value_heads": "n_kv_head",
    "head_dim": "d_head",
}
DEFAULTS = {"rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False}
BIASES = {"attention_bias": False, "mlp_bias": False}
# By family: what it has that the others have not, and what is accepted of what it has not.
OWN = {"llama": BIASES, "mistral": {"sliding_window": 4096, "num_key_value_heads": 8}}
ACCEPTED = {
    "llama": {"sliding_window": (None,)},
    "mistral": {"attention_bias": (None, False), "mlp_bias": (None, False), "layer_types": (None,)},
}


def llama_config_from_hf(settings):
    """Read the settings of a Hugging Face Llama or Mistral.

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
    family = settings.get("model_type")
    if family not in OWN:
        raise_faults(TITLE, [f"model_type must be one of {', '.join(OWN)}, got {shown(family)}"])
    given = _given(settings, family)
    expected = {"sizes": _sizes(given), "accepted": ACCEPTED[family], "flags": ("tie_word_embeddings", *BIASES)}
    faults = decoder_faults(settings, given, **expected, eps="rms_norm_eps")
    rope, rope_faults = rotary_from_hf(settings)
    # The relations between sizes can be judged only when every size is one.
    raise_faults(TITLE, faults + rope_faults or _not_related(given, rope))
    return llama_config(
        **{ours: given[theirs] for theirs, ours in SIZES.items() if theirs in given},
        activation=ACTIVATIONS[given["hidden_act"]],
        norm_eps=float(given["rms_norm_eps"]),
        theta=float(rope["theta"]),
        scaling=rope["scaling"],
        biased=PROJECTIONS if given["attention_bias"] else (),
        feed_bias=given["mlp_bias"],
        window=given.get("sliding_window"),
        tied=given["tie_word_embeddings"],
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
    return {"model_type": "llama", **rotary_model_to_hf(config, groups, classes="Llama"), **biases}


def mistral_config_to_hf(config, groups):
    """Write our settings as those of a Mistral, the inverse of `llama_config_from_hf`.

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
    window = {"sliding_window": config.window}
    return {"model_type": "mistral", **rotary_model_to_hf(config, groups, classes="Mistral"), **window}


def rotary_model_to_hf(config, groups, *, classes):
    """Write what Llama, Mistral and their mixtures of experts have in common.

    Parameters
    ----------
    config : DecoderConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the backbone: "head".
    classes : str
        What the classes of `transformers` begin with.

    Returns
    -------
    dict of str to object
        Part of the content of a config.json.
    """
    feed = config.feeds[0]
    return {
        "architectures": [f"{classes}ForCausalLM" if "head" in groups or config.tied else f"{classes}Model"],
        **{theirs: getattr(feed if ours == "d_ff" else config, ours) for theirs, ours in SIZES.items()},
        "hidden_act": THEIR_ACTIVATIONS[feed.activation],
        "rms_norm_eps": config.norm.eps,
        "tie_word_embeddings": config.tied,
        **rotary_to_hf(config.positions, d_head=config.d_head),
    }


TITLE = "config.json does not describe a model that refimpl has"


def _given(settings, family):
    given = with_defaults(settings, {**DEFAULTS, **BIASES, **OWN[family]})
    # Where they have a default, null is no absent key.
    absent = [key for key in ("sliding_window", "num_key_value_heads") if key in settings and settings[key] is None]
    return {key: value for key, value in given.items() if key not in absent}


def _sizes(given):
    optional = [key for key in ("num_key_value_heads", "head_dim", "sliding_window") if key in given]
    return [*list(SIZES)[:5], *optional]


def _not_related(given, rope):
    n_head, n_kv_head = given["num_attention_heads"], given.get("num_key_value_heads", 1)
    faults = [] if "head_dim" in given else head_faults(given, "hidden_size", "num_attention_heads")
    if n_head % n_kv_head:
        faults.append(f"num_attention_heads must be a multiple of num_key_value_heads = {n_kv_head}, got {n_head}")
    d_head = given.get("head_dim", given["hidden_size"] // n_head)
    if d_head % 2:
        faults.append(f"head_dim must be even to be turned in pairs, got {d_head}")
    if rope["share"] != 1:
        faults.append(f"partial_rotary_factor must be 1, got {shown(rope['share'])}")
    return faults
