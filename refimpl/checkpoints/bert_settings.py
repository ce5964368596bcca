"""The settings of a BERT between Hugging Face's config.json and our `BertConfig`."""

from refimpl.checkpoints.bert_names import ARCHITECTURES
from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.settings_map import (
    count_labels,
    is_integer,
    not_accepted,
    not_choices,
    not_numbers,
    not_sizes,
)
from refimpl.models.bert_config import BertConfig

BERT = conventions("bert")
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
ACTIVATIONS = BERT.activations
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
DEFAULTS = BERT.defaults()  # of layer_norm_eps, hidden_act and pad_token_id among others


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
    faults = not_accepted(settings, ACCEPTED) + not_sizes(settings, SIZES, largest=LARGEST)
    given = {**DEFAULTS, **{key: value for key, value in settings.items() if value is not None}}
    faults += not_numbers(given, {"layer_norm_eps": (0, 1)}) + not_choices(given, {"hidden_act": ACTIVATIONS})
    if not is_integer(given["pad_token_id"]):
        faults.append(f"pad_token_id must be an integer, got {shown(given['pad_token_id'])}")
    n_label, label_faults = count_labels(given)
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


def _not_related(given):
    faults = []
    width, heads = given["hidden_size"], given["num_attention_heads"]
    if width % heads:
        faults.append(f"hidden_size must be a multiple of num_attention_heads = {heads}, got {width}")
    if not 0 <= given["pad_token_id"] < given["vocab_size"]:
        faults.append(f"pad_token_id must be below vocab_size, got {given['pad_token_id']}")
    return faults

