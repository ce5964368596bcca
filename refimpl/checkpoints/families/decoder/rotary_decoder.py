"""What Llama, Mistral and their mixtures of experts have in common, between config.json and our `DecoderConfig`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.families.decoder.rotary import rotary_from_hf, rotary_to_hf
from refimpl.checkpoints.families.decoder.settings import (
    ACTIVATIONS,
    THEIR_ACTIVATIONS,
    decoder_faults,
    head_faults,
    with_defaults,
)

TITLE = "config.json does not describe a model that refimpl has"
SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layer",
    "num_attention_heads": "n_head",
    "intermediate_size": "d_ff",
    "num_key_value_heads": "n_kv_head",
    "head_dim": "d_head",
}
# Where these are null, that is what they are; where they are absent, a family may have another default.
OPTIONAL_SIZES = ("num_key_value_heads", "head_dim", "sliding_window")
DEFAULTS = {"rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False}


def read_rotary_decoder(settings, *, own, accepted, sizes=(), flags=(), theta=10000.0, more_faults=None):
    """Read the settings that all these families have.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.
    own : dict of str to object
        The defaults of a family.
    accepted : dict of (str, tuple)
        By key the only values that are supported.
    sizes, flags : iterable of str
        The settings of the family that are sizes, and those that are true or false.
    theta : float, optional
        The base of the rotary positions by default.
    more_faults : callable, optional
        ``more_faults(given) -> list of str``: what else the family wants of settings whose sizes are sizes.

    Returns
    -------
    given : dict of str to object
        All settings, with defaults in place of what is absent.
    ours : dict of str to object
        The keywords of `llama_config` that all families have.

    Raises
    ------
    CheckpointError
        If a setting is missing or not supported; every one is named.
    """
    given = with_defaults(settings, {**DEFAULTS, **own})
    null = [key for key in OPTIONAL_SIZES if key in settings and settings[key] is None]
    given = {key: value for key, value in given.items() if key not in null}
    there = [key for key in SIZES if key not in OPTIONAL_SIZES] + [key for key in OPTIONAL_SIZES if key in given]
    expected = {"sizes": [*there, *sizes], "accepted": accepted, "flags": ("tie_word_embeddings", *flags)}
    faults = decoder_faults(settings, given, **expected, eps="rms_norm_eps")
    rope, rope_faults = rotary_from_hf(settings, theta=theta)
    # The relations between sizes can be judged only when every size is one.
    related = [_not_related, *([] if more_faults is None else [more_faults])]
    faults = faults + rope_faults or [fault for find in related for fault in find({**given, "share": rope["share"]})]
    raise_faults(TITLE, faults)
    return given, {
        **{ours: given[theirs] for theirs, ours in SIZES.items() if theirs in given},
        "activation": ACTIVATIONS[given["hidden_act"]],
        "norm_eps": float(given["rms_norm_eps"]),
        "theta": float(rope["theta"]),
        "scaling": rope["scaling"],
        "tied": given["tie_word_embeddings"],
    }


def rotary_decoder_to_hf(config, groups, *, model_type, classes, d_ff, activation):
    """Write the settings that all these families have, the inverse of `read_rotary_decoder`.

    Parameters
    ----------
    config : DecoderConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the backbone: "head".
    model_type, classes : str
        The family, and what its classes in `transformers` begin with.
    d_ff : int
        What they call ``intermediate_size``.
    activation : str
        Of the feed-forward networks.

    Returns
    -------
    dict of str to object
        Part of the content of a config.json.
    """
    ours = {theirs: getattr(config, ours) for theirs, ours in SIZES.items() if ours != "d_ff"}
    return {
        "architectures": [f"{classes}ForCausalLM" if "head" in groups or config.tied else f"{classes}Model"],
        "model_type": model_type,
        **ours,
        "intermediate_size": d_ff,
        "hidden_act": THEIR_ACTIVATIONS[activation],
        "rms_norm_eps": config.norm.eps,
        "tie_word_embeddings": config.tied,
        **rotary_to_hf(config.positions, d_head=config.d_head),
    }


def _not_related(given):
    n_head, n_kv_head = given["num_attention_heads"], given.get("num_key_value_heads", 1)
    faults = [] if "head_dim" in given else head_faults(given, "hidden_size", "num_attention_heads")
    if n_head % n_kv_head:
        faults.append(f"num_attention_heads must be a multiple of num_key_value_heads = {n_kv_head}, got {n_head}")
    d_head = given.get("head_dim", given["hidden_size"] // n_head)
    if d_head % 2:
        faults.append(f"head_dim must be even to be turned in pairs, got {d_head}")
    if given["share"] != 1:
        faults.append(f"partial_rotary_factor must be 1, got {shown(given['share'])}")
    return faults
