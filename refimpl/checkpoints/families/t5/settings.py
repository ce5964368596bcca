"""The settings of a T5 between Hugging Face's config.json and our `T5Config`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.settings_map import is_integer, not_accepted, not_choices, not_numbers, not_sizes
from refimpl.models.t5.config import T5Config

SIZES = {
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "d_kv": "d_head",
    "num_heads": "n_head",
    "num_layers": "n_layer",
    "d_ff": "d_ff",
}
LARGEST = {"num_layers": MOST_TENSORS // 8, "num_decoder_layers": MOST_TENSORS // 13}  # so many tensors has a block
# As in `transformers`; the decoder is as deep as the encoder where nothing else is said.
FURTHER = {
    "num_decoder_layers": "n_decoder_layer",
    "relative_attention_num_buckets": "n_bucket",
    "relative_attention_max_distance": "max_distance",
}
DEFAULTS = {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128, "decoder_start_token_id": 0}
SCALED = "scale_decoder_outputs"
PROJ = "feed_forward_proj"
GATES = {"relu": "gated-relu", "gelu_tanh": "gated-gelu", "silu": "gated-silu"}
PLAIN = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
# The only values that describe the model we have; None stands for an absent key.
ACCEPTED = {
    "model_type": ("t5",),
    "is_encoder_decoder": (None, True),
    "is_decoder": (None, False),
    "tie_word_embeddings": (None, True, False),
    SCALED: (None, True, False),
    "quantization_config": (None,),
}


def t5_config_from_hf(settings):
    """Read the settings of a Hugging Face T5.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` must be there; what else there is has the defaults of
        `transformers`, also for null.  Dropout rates are no part of the mathematics and not read.

    Returns
    -------
    T5Config
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.

    Notes
    -----
    ``tie_word_embeddings: false`` marks T5 1.1, which does not scale before its head; today's `transformers` says
    ``scale_decoder_outputs`` beside it.
    """
    entry = conventions("t5")
    said = {key: value for key, value in settings.items() if value is not None}
    given = {**entry.defaults(), **DEFAULTS, "num_decoder_layers": said.get("num_layers"), **said}
    faults = not_accepted(settings, ACCEPTED) + not_sizes(settings, SIZES, largest=LARGEST)
    faults += not_sizes(given, FURTHER, largest=LARGEST)
    faults += not_numbers(given, {"layer_norm_epsilon": (0, 1)})
    if settings.get(SCALED, True) is None:  # to `transformers` that is false, but absent it is not
        faults.append(f"{SCALED} must be true, false or absent, got null")
    faults += not_choices(given, {PROJ: entry.activations})
    # `transformers` hears these two, and what they are made of only where they are absent.
    faults = faults or not_accepted(given, {key: (None, value) for key, value in _feed(given[PROJ]).items()})
    # The relations between sizes can be judged only when every size is one.
    raise_faults("config.json does not describe a model that refimpl has", faults or _not_related(given))
    return T5Config(
        **{ours: given[theirs] for theirs, ours in {**SIZES, **FURTHER}.items()},
        norm_eps=float(given["layer_norm_epsilon"]),
        activation=entry.activations[given[PROJ]],
        gated=given[PROJ].startswith("gated-"),
        scale_logits=given.get(SCALED, given["tie_word_embeddings"]),
        pad_id=given["pad_token_id"],
        start_id=given["decoder_start_token_id"],
    )


def t5_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `t5_config_from_hf`.

    Parameters
    ----------
    config : T5Config
        Our settings.
    groups : set of str
        The parts of the model that are there beside encoder and decoder: "head", where it is not tied.

    Returns
    -------
    dict of str to object
        The content of a config.json.

    Raises
    ------
    CheckpointError
        If Hugging Face has no name for the activation, gated.
    """
    names = GATES if config.gated else PLAIN
    if config.activation not in names:
        raise_faults("T5 of Hugging Face is no such model", [f"a gated {config.activation} has no name there"])
    return {
        "architectures": ["T5ForConditionalGeneration"],
        **{theirs: getattr(config, ours) for theirs, ours in {**SIZES, **FURTHER}.items()},
        "model_type": "t5",
        "is_encoder_decoder": True,
        "layer_norm_epsilon": config.norm_eps,
        PROJ: names[config.activation],
        **_feed(names[config.activation]),
        "tie_word_embeddings": config.scale_logits,
        SCALED: config.scale_logits,
        "pad_token_id": config.pad_id,
        "decoder_start_token_id": config.start_id,
    }


def _feed(said):
    gated = said.startswith("gated-")
    return {"is_gated_act": gated, "dense_act_fn": "gelu_new" if said == "gated-gelu" else said.removeprefix("gated-")}


def _not_related(given):
    faults = []
    n_bucket, farthest = given["relative_attention_num_buckets"], given["relative_attention_max_distance"]
    if n_bucket < 4 or n_bucket % 2:
        faults.append(f"relative_attention_num_buckets must be even and at least 4, got {n_bucket}")
    elif farthest <= n_bucket // 2:
        faults.append(f"relative_attention_max_distance must be greater than {n_bucket // 2}, got {farthest}")
    for key in ("pad_token_id", "decoder_start_token_id"):
        if not is_integer(given[key]) or not 0 <= given[key] < given["vocab_size"]:
            faults.append(f"{key} must be an integer below vocab_size, got {shown(given[key])}")
    return faults
