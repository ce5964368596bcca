"""The settings of Bart, Marian and Pegasus between Hugging Face's config.json and our `EncoderDecoderConfig`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.families.encoder_decoder.names import encoder_decoder_names
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.settings_map import is_integer, not_accepted, not_choices, not_sizes
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig

SIZES = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "n_position",
    "d_model": "d_model",
    "encoder_attention_heads": "n_head",
    "decoder_attention_heads": "n_decoder_head",
    "encoder_layers": "n_layer",
    "decoder_layers": "n_decoder_layer",
    "encoder_ffn_dim": "d_ff",
    "decoder_ffn_dim": "d_decoder_ff",
}
LARGEST = {"encoder_layers": MOST_TENSORS // 16, "decoder_layers": MOST_TENSORS // 26}  # so many tensors has a block
OUR_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "silu": "silu"}
START = {"bart": 2, "marian": 58100, "pegasus": 0}  # the default of decoder_start_token_id in `transformers`
# What each family always has, in our words.
KINDS = {
    model_type: {
        "positions": "learned" if conventions(model_type).positions == "learned" else "concatenated",
        "position_offset": conventions(model_type).position_offset,
        "embedding_norm": model_type == "bart",
        "norm_first": conventions(model_type).norm_place == "first",
        "final_norm": conventions(model_type).norm_place == "first",
        "norm_eps": conventions(model_type).norm_eps.default,
    }
    for model_type in START
}
# The only values that describe the models we have; None stands for an absent key.
ACCEPTED = {
    "is_encoder_decoder": (None, True),
    "is_decoder": (None, False),
    "tie_word_embeddings": (None, True),
    "share_encoder_decoder_embeddings": (None, True),
    "add_bias_logits": (None, False),
    "quantization_config": (None,),
}


def encoder_decoder_config_from_hf(settings):
    """Read the settings of a Bart, Marian or Pegasus of Hugging Face.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` must be there; what else there is has the defaults of
        `transformers`, also for null.  Dropout rates and settings of the generation are no part of the mathematics
        and not read.

    Returns
    -------
    EncoderDecoderConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    faults = not_accepted(settings, {"model_type": tuple(KINDS)})
    raise_faults("config.json does not describe a model that refimpl has", faults)
    kind = settings["model_type"]
    one_vocabulary = {"decoder_vocab_size": (None, settings.get("vocab_size"))}
    faults = not_accepted(settings, {**ACCEPTED, **_said_by(kind), **one_vocabulary})
    faults += not_sizes(settings, SIZES, largest=LARGEST)
    defaults = {**conventions(kind).defaults(), "decoder_start_token_id": START[kind]}
    given = {**defaults, **{key: value for key, value in settings.items() if value is not None}}
    faults += not_choices(given, {"activation_function": conventions(kind).activations})
    faults += not_accepted(given, {"scale_embedding": (False, True)})
    # The relations between sizes can be judged only when every size is one.
    raise_faults("config.json does not describe a model that refimpl has", faults or _not_related(given))
    return EncoderDecoderConfig(
        **{ours: given[theirs] for theirs, ours in SIZES.items()},
        **KINDS[kind],
        scale_embedding=given["scale_embedding"],
        activation=conventions(kind).activations[given["activation_function"]],
        pad_id=given["pad_token_id"],
        start_id=given["decoder_start_token_id"],
    )


def encoder_decoder_config_to_hf(config, groups, *, model_type):
    """Write our settings as Hugging Face does, the inverse of `encoder_decoder_config_from_hf`.

    Parameters
    ----------
    config : EncoderDecoderConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside encoder and decoder: "head".
    model_type : {"bart", "marian", "pegasus"}
        Which of its families.

    Returns
    -------
    dict of str to object
        The content of a config.json.

    Raises
    ------
    CheckpointError
        If the family is made otherwise than the configuration says; every such setting is named.
    """
    faults = [
        f"{name} must be {shown(value)} in {model_type}, got {shown(getattr(config, name))}"
        for name, value in KINDS[model_type].items()
        if getattr(config, name) != value
    ]
    raise_faults(f"{model_type} is no model of this configuration", faults)
    return {
        "architectures": [encoder_decoder_names(model_type).architectures[frozenset(groups)]],
        **{theirs: getattr(config, ours) for theirs, ours in SIZES.items()},
        "model_type": model_type,
        "is_encoder_decoder": True,
        "activation_function": OUR_ACTIVATIONS[config.activation],
        "scale_embedding": config.scale_embedding,
        "pad_token_id": config.pad_id,
        "decoder_start_token_id": config.start_id,
        "tie_word_embeddings": True,
    }


def _said_by(kind):
    """List what the first versions of these models said of themselves in config.json."""
    ours = KINDS[kind]
    return {
        "normalize_before": (None, ours["norm_first"]),
        "add_final_layer_norm": (None, ours["final_norm"]),
        "normalize_embedding": (None, ours["embedding_norm"]),
        "static_position_embeddings": (None, ours["positions"] == "concatenated"),
    }


def _not_related(given):
    faults = []
    for key in ("encoder_attention_heads", "decoder_attention_heads"):
        if given["d_model"] % given[key]:
            faults.append(f"d_model must be a multiple of {key} = {given[key]}, got {given['d_model']}")
    for key in ("pad_token_id", "decoder_start_token_id"):
        if not is_integer(given[key]) or not 0 <= given[key] < given["vocab_size"]:
            faults.append(f"{key} must be an integer below vocab_size, got {shown(given[key])}")
    return faults
