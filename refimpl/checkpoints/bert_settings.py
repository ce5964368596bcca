"""The settings of a BERT between Hugging Face's config.json and our `BertConfig`."""

from refimpl.checkpoints.bert_names import ARCHITECTURES
from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.header import MOST_TENSORS
from refimpl.models.bert_config import BertConfig

SIZES = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "n_position",
    "type_vocab_size": "n_segment",
    "hidden_size": "d_model",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "intermediate_size": "d_ff",
}
LARGEST = {"num_hidden_layers": MOST_TENSORS // 16}  # a block has 16 tensors, and a file so many at most
LARGEST_SIZE = 2**31 - 1
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
OUR_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}
# The only values that describe the model we have; None stands for an absent key.
ACCEPTED = {
    "model_type": ("bert",),
    "position_embedding_type": (None, "absolute"),
    "is_decoder": (None, False),
    "is_encoder_decoder": (None, False),
    "add_cross_attention": (None, False),
    "tie_word_embeddings": (None, True),
    "pruned_heads": (None, {}),
    "quantization_config": (None,),
}
DEFAULTS = {"layer_norm_eps": 1e-12, "hidden_act": "gelu", "pad_token_id": 0}  # as in `transformers`


def bert_config_from_hf(settings):
    """Read the settings of a Hugging Face BERT.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` must be there; ``layer_norm_eps``,
        ``hidden_act`` and ``pad_token_id`` have the defaults of `transformers` (1e-12, gelu, 0), also for
        null.  Dropout rates and names of labels are no part of the mathematics and not read.

    Returns
    -------
    BertConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    faults = [fault for key, values in ACCEPTED.items() for fault in _not_accepted(settings, key, values)]
    faults += [fault for key in SIZES for fault in _not_size(settings, key)]
    given = {**DEFAULTS, **{key: value for key, value in settings.items() if value is not None}}
    faults += _not_settings(given)
    n_label, label_faults = _count_labels(given)
    # The relations between sizes can be judged only when every size is one.
    faults = faults + label_faults or _not_related(given)
    raise_faults("config.json does not describe a model that refimpl has", faults)
    return BertConfig(
        **{ours: given[theirs] for theirs, ours in SIZES.items()},
        norm_eps=float(given["layer_norm_eps"]),
        activation=ACTIVATIONS[given["hidden_act"]],
        n_label=n_label,
        pad_id=given["pad_token_id"],
    )


def bert_config_to_hf(config, groups):
    """Write our settings as Hugging Face does, the inverse of `bert_config_from_hf`.

    Parameters
    ----------
    config : BertConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the encoder: "pooler", "mlm", "nsp", "classifier".

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    architecture = ARCHITECTURES.get(frozenset(groups))
    return {
        **({"architectures": [architecture]} if architecture else {}),
        **{theirs: getattr(config, ours) for theirs, ours in SIZES.items()},
        "model_type": "bert",
        "layer_norm_eps": config.norm_eps,
        "hidden_act": OUR_ACTIVATIONS[config.activation],
        "pad_token_id": config.pad_id,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": True,
        "num_labels": config.n_label,
    }


def _not_accepted(settings, key, values):
    got = settings.get(key)
    if got in values:
        return []
    expected = " or ".join("absent" if value is None else shown(value) for value in values)
    return [f"{key} must be {expected}, got {shown(got) if key in settings else 'nothing'}"]


def _not_size(settings, key):
    if key not in settings:
        return [f"{key} is missing"]
    largest = LARGEST.get(key, LARGEST_SIZE)
    if _is_integer(settings[key]) and 1 <= settings[key] <= largest:
        return []
    return [f"{key} must be an integer from 1 to {largest}, got {shown(settings[key])}"]


def _not_settings(given):
    eps, activation, pad = (given[key] for key in DEFAULTS)
    faults = []
    if not (_is_integer(eps) or isinstance(eps, float)) or not 0 < eps < 1:
        faults.append(f"layer_norm_eps must be a number between 0 and 1, got {shown(eps)}")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        faults.append(f"hidden_act must be one of {', '.join(ACTIVATIONS)}, got {shown(activation)}")
    if not _is_integer(pad):
        faults.append(f"pad_token_id must be an integer, got {shown(pad)}")
    return faults


def _count_labels(given):
    """Count the labels; `transformers` keeps their names, from which it counts them, or the count alone."""
    names, count = given.get("id2label"), given.get("num_labels")
    if names is not None and (not isinstance(names, dict) or not names):
        return 0, [f"id2label must be an object of labels, got {shown(names)}"]
    if count is not None and not (_is_integer(count) and 1 <= count <= LARGEST_SIZE):
        return 0, [f"num_labels must be an integer from 1 to {LARGEST_SIZE}, got {shown(count)}"]
    if names is not None and count is not None and len(names) != count:
        return 0, [f"num_labels must be the number of labels in id2label, {len(names)}, got {count}"]
    return (len(names) if names is not None else count or 2), []


def _not_related(given):
    faults = []
    width, heads = given["hidden_size"], given["num_attention_heads"]
    if width % heads:
        faults.append(f"hidden_size must be a multiple of num_attention_heads = {heads}, got {width}")
    if not 0 <= given["pad_token_id"] < given["vocab_size"]:
        faults.append(f"pad_token_id must be below vocab_size, got {given['pad_token_id']}")
    return faults


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)
