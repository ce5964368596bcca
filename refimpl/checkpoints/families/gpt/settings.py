"""The settings of a GPT between Hugging Face's config.json and our `GptConfig`."""

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.families.gpt.names import GPT_NAMES, LAYER_TABLE, gpt_model_type
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.settings_map import (
    LARGEST_SIZE,
    count_labels,
    is_integer,
    not_accepted,
    not_choices,
    not_numbers,
    not_sizes,
)
from refimpl.models.gpt.config import GptConfig

SIZES = {
    "vocab_size": "vocab_size",
    "n_positions": "n_position",
    "n_embd": "d_model",
    "n_head": "n_head",
    "n_layer": "n_layer",
}
LARGEST = {"n_layer": MOST_TENSORS // len(LAYER_TABLE)}  # a file has so many tensors at most
TOKENS = {"pad_token_id": "pad_id", "bos_token_id": "bos_id", "eos_token_id": "eos_id"}
ENTRIES = {model_type: conventions(model_type) for model_type in GPT_NAMES}
# "gelu" of GPT-1 is the one with tanh.
ACTIVATIONS = {model_type: entry.activations for model_type, entry in ENTRIES.items()}
ACTIVATION_KEYS = {model_type: entry.activation.key for model_type, entry in ENTRIES.items()}
# The only values that describe the model we have; None stands for an absent key.
ACCEPTED = {
    "model_type": tuple(ACTIVATIONS),
    "scale_attn_weights": (None, True),
    "scale_attn_by_inverse_layer_idx": (None, False),
    "add_cross_attention": (None, False),
    "is_encoder_decoder": (None, False),
    "tie_word_embeddings": (None, True, False),
    "pruned_heads": (None, {}),
    "quantization_config": (None,),
}
# As in `transformers`, where GPT-2 begins and ends texts with one token, unless told otherwise.
DEFAULT_TOKENS = {"gpt2": {"bos_token_id": 50256, "eos_token_id": 50256}, "openai-gpt": {}}


def gpt_config_from_hf(settings):
    """Read the settings of a Hugging Face GPT-2 or GPT-1.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` ("gpt2" or "openai-gpt") must be there; the rest has the
        defaults of `transformers`.  Dropout rates and names of labels are no part of the mathematics and not read;
        nor is ``reorder_and_upcast_attn``, which is about rounding.

    Returns
    -------
    GptConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    what = "config.json does not describe a model that refimpl has"
    faults = not_accepted(settings, ACCEPTED) + not_sizes(settings, SIZES, largest=LARGEST)
    model_type = settings.get("model_type")
    if not isinstance(model_type, str) or model_type not in ACTIVATIONS:
        raise_faults(what, faults)
    given = {**ENTRIES[model_type].defaults(), **{key: value for key, value in settings.items() if value is not None}}
    tokens = {**DEFAULT_TOKENS[model_type], **settings}
    n_label, label_faults = count_labels(given)
    faults += [*label_faults, *_not_settings(given, tokens, model_type)]
    # The relation between sizes can be judged only when every size is one.
    raise_faults(what, faults or _not_related(given))
    return GptConfig(
        **{ours: given[theirs] for theirs, ours in SIZES.items()},
        d_ff=given.get("n_inner", 4 * given["n_embd"]) if model_type == "gpt2" else 4 * given["n_embd"],
        norm_first=model_type == "gpt2",
        norm_eps=float(given["layer_norm_epsilon"]),
        activation=ACTIVATIONS[model_type][given[ACTIVATION_KEYS[model_type]]],
        tied=given["tie_word_embeddings"],
        n_label=n_label,
        **{ours: _in_our_way(tokens.get(theirs)) for theirs, ours in TOKENS.items()},
    )


def gpt_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `gpt_config_from_hf`.

    Parameters
    ----------
    config : GptConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the backbone: "head", "classifier".

    Returns
    -------
    dict of str to object
        The content of a config.json.

    Raises
    ------
    CheckpointError
        If Hugging Face has no such model; every setting that has no place there is named.
    """
    model_type = gpt_model_type(config)
    names = {ours: theirs for theirs, ours in reversed(ACTIVATIONS[model_type].items())}
    raise_faults("transformers has no such model", _not_theirs(config, model_type, names))
    # A tied head has no parameter of its own: a model that sorts no texts tells the next token.
    parts = frozenset(groups) or (frozenset({"head"}) if config.tied else frozenset())
    architecture = GPT_NAMES[model_type].architectures.get(parts)
    return {
        **({"architectures": [architecture]} if architecture else {}),
        **{theirs: getattr(config, ours) for theirs, ours in SIZES.items()},
        **{theirs: _in_their_way(getattr(config, ours)) for theirs, ours in TOKENS.items()},
        **({"n_inner": config.d_ff} if model_type == "gpt2" else {}),
        "model_type": model_type,
        "layer_norm_epsilon": config.norm_eps,
        ACTIVATION_KEYS[model_type]: names[config.activation],
        "tie_word_embeddings": config.tied,
        "num_labels": config.n_label,
    }


def _not_settings(given, tokens, model_type):
    faults = not_numbers(given, {"layer_norm_epsilon": (0, 1)})
    faults += not_choices(given, {ACTIVATION_KEYS[model_type]: ACTIVATIONS[model_type]})
    if model_type == "gpt2" and "n_inner" in given:
        faults += not_sizes(given, ["n_inner"])
    for key in TOKENS:
        token = tokens.get(key)
        several = key == "eos_token_id" and isinstance(token, list) and token
        if token is not None and not all(map(_is_token, token if several else [token])):
            or_several = " or a list of integers" if key == "eos_token_id" else ""
            faults.append(f"{key} must be null or an integer{or_several}, got {shown(token)}")
    return faults


def _is_token(value):
    return is_integer(value) and abs(value) <= LARGEST_SIZE


def _in_our_way(token):
    return tuple(token) if isinstance(token, list) else token


def _in_their_way(token):
    return list(token) if isinstance(token, tuple) else token


def _not_related(given):
    width, heads = given["n_embd"], given["n_head"]
    return [f"n_embd must be a multiple of n_head = {heads}, got {width}"] if width % heads else []


def _not_theirs(config, model_type, names):
    faults = []
    if config.window is not None:
        faults.append(f"window must be None, got {config.window}: no GPT of theirs has banded layers")
    if config.activation not in names:
        faults.append(f"activation must be one of {', '.join(names)} in {model_type}, got {config.activation}")
    if model_type == "openai-gpt" and config.d_ff != 4 * config.d_model:
        faults.append(f"d_ff must be 4 * d_model = {4 * config.d_model} in openai-gpt, got {config.d_ff}")
    return faults
