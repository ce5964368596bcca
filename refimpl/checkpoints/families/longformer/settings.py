"""The settings of a Longformer between Hugging Face's config.json and our `LongformerConfig`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.settings_map import is_integer, not_accepted, not_choices, not_numbers, not_sizes
from refimpl.models.longformer.config import LongformerConfig

SIZES = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "n_position",
    "type_vocab_size": "n_segment",
    "hidden_size": "d_model",
    "num_attention_heads": "n_head",
    "intermediate_size": "d_ff",
}
DEPTH = "num_hidden_layers"
LARGEST = {DEPTH: MOST_TENSORS // 22}  # a block has 22 tensors, and a file so many at most
OUR_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}
# The only values that describe the model we have; None stands for an absent key.
ACCEPTED = {
    "model_type": ("longformer",),
    "position_embedding_type": (None, "absolute"),
    "is_decoder": (None, False),
    "attention_mode": (None, "longformer"),
    "attention_dilation": (None,),
    "quantization_config": (None,),
}


def longformer_config_from_hf(settings):
    """Read the settings of a Hugging Face Longformer.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` must be there; what else there is has the defaults of
        `transformers`, also for null.  Dropout rates are no part of the mathematics and not read.

    Returns
    -------
    LongformerConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    entry = conventions("longformer")
    said = {key: value for key, value in settings.items() if value is not None}
    given = {"attention_window": 512, **entry.defaults(), **said}
    faults = not_accepted(settings, ACCEPTED) + not_sizes(settings, [*SIZES, DEPTH], largest=LARGEST)
    faults += not_numbers(given, {"layer_norm_eps": (0, 1)}) + not_choices(given, {"hidden_act": entry.activations})
    # The relations between sizes can be judged only when every size is one.
    raise_faults("config.json does not describe a model that refimpl has", faults or _not_related(given))
    return LongformerConfig(
        **{ours: given[theirs] for theirs, ours in SIZES.items()},
        reaches=tuple(window // 2 for window in _windows(given)),
        norm_eps=float(given["layer_norm_eps"]),
        activation=entry.activations[given["hidden_act"]],
        pad_id=given["pad_token_id"],
    )


def longformer_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `longformer_config_from_hf`.

    Parameters
    ----------
    config : LongformerConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the encoder: "pooler".

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    return {
        "architectures": ["LongformerModel"],
        **{theirs: getattr(config, ours) for theirs, ours in SIZES.items()},
        DEPTH: config.n_layer,
        "model_type": "longformer",
        "attention_window": [2 * reach for reach in config.reaches],
        "layer_norm_eps": config.norm_eps,
        "hidden_act": OUR_ACTIVATIONS[config.activation],
        "pad_token_id": config.pad_id,
    }


def _windows(given):
    windows = given["attention_window"]
    return windows if isinstance(windows, list) else [windows] * given[DEPTH]


def _not_related(given):
    faults, windows = [], _windows(given)
    if len(windows) != given[DEPTH] or not all(is_integer(window) and window > 0 for window in windows):
        faults.append(
            f"attention_window must be an even number, or one for each of {given[DEPTH]} blocks, got {shown(windows)}"
        )
    elif any(window % 2 for window in windows):
        faults.append(f"attention_window must be even, got {shown(windows)}")
    width, heads = given["hidden_size"], given["num_attention_heads"]
    if width % heads:
        faults.append(f"hidden_size must be a multiple of num_attention_heads = {heads}, got {width}")
    limit = min(given["vocab_size"], given["max_position_embeddings"])
    if not is_integer(given["pad_token_id"]) or not 0 <= given["pad_token_id"] < limit:
        faults.append(f"pad_token_id must be an integer below {limit}, got {shown(given['pad_token_id'])}")
    return faults
