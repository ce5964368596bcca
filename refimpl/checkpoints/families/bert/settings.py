"""The settings of BERT and its relatives between Hugging Face's config.json and our `BertConfig`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from refimpl.checkpoints.errors import raise_faults, shown
from refimpl.checkpoints.families.bert.albert import ALBERT_NAMES
from refimpl.checkpoints.families.bert.distilbert import DISTILBERT_NAMES
from refimpl.checkpoints.families.bert.names import BERT_NAMES
from refimpl.checkpoints.families.bert.roberta import ROBERTA_NAMES
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.names import Names
from refimpl.checkpoints.settings_map import (
    count_labels,
    is_integer,
    not_accepted,
    not_choices,
    not_numbers,
    not_sizes,
)
from refimpl.models.bert.config import BertConfig

SIZES = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "n_position",
    "type_vocab_size": "n_segment",
    "hidden_size": "d_model",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "intermediate_size": "d_ff",
}
MOST_LAYERS = MOST_TENSORS // 16  # a block has 16 tensors, and a file so many at most
OUR_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}
# The only values that describe the models we have; None stands for an absent key.
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


@dataclass(frozen=True)
class Relative:
    """What a relative of BERT calls its settings, and which it does not have.

    Attributes
    ----------
    names : Names
        Its name map.
    sizes : dict of (str, str)
        By their key our field.
    accepted : dict of (str, tuple)
        As ACCEPTED, where that is otherwise.
    fixed : dict of (str, object)
        Our fields that are always the same.
    """

    names: Names
    sizes: Mapping
    accepted: Mapping = field(default_factory=dict)
    fixed: Mapping = field(default_factory=dict)

    def key_of(self, ours):
        """Look up their key of one of our sizes.

        Parameters
        ----------
        ours : str
            Our field.

        Returns
        -------
        str
            Their key.
        """
        return next(theirs for theirs, our in self.sizes.items() if our == ours)


RELATIVES = {
    "bert": Relative(BERT_NAMES, SIZES),
    "roberta": Relative(ROBERTA_NAMES, SIZES, fixed={"positions_after_padding": True, "head_activation": "gelu"}),
    "distilbert": Relative(
        DISTILBERT_NAMES,
        {
            "vocab_size": "vocab_size", "max_position_embeddings": "n_position", "dim": "d_model", "n_heads": "n_head",
            "n_layers": "n_layer", "hidden_dim": "d_ff",
        },
        fixed={"n_segment": 0, "pooler_activation": "relu"},
    ),
    "albert": Relative(
        ALBERT_NAMES,
        {**SIZES, "embedding_size": "d_embed", "num_hidden_groups": "n_block"},
        accepted={"inner_group_num": (None, 1)},
    ),
}  # fmt: skip


def config_from_hf(settings, *, model_type):
    """Read the settings of BERT or a relative of Hugging Face.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.  The sizes and ``model_type`` must be there; ``layer_norm_eps``, the activation and
        ``pad_token_id`` have the defaults of `transformers` (for BERT 1e-12, gelu, 0), also for null.  Dropout rates
        and names of labels are no part of the mathematics and not read.
    model_type : {"bert", "roberta", "distilbert", "albert"}
        Which.

    Returns
    -------
    BertConfig
        The same in our names.

    Raises
    ------
    CheckpointError
        If a key is missing or has a value that `refimpl` has no model for; every one is named.
    """
    kind, said = RELATIVES[model_type], conventions(model_type)
    eps, activation = said.norm_eps, said.activation.key
    accepted = {**ACCEPTED, **kind.accepted, "model_type": (model_type,)}
    largest = {kind.key_of("n_layer"): MOST_LAYERS}
    faults = not_accepted(settings, accepted) + not_sizes(settings, kind.sizes, largest=largest)
    given = {**said.defaults(), **{key: value for key, value in settings.items() if value is not None}}
    faults += not_numbers(given, {eps.key: (0, 1)} if eps.key else {})
    faults += not_choices(given, {activation: said.activations})
    if not is_integer(given["pad_token_id"]):
        faults.append(f"pad_token_id must be an integer, got {shown(given['pad_token_id'])}")
    n_label, label_faults = count_labels(given)
    # The relations between sizes can be judged only when every size is one.
    faults = faults + label_faults or _not_related(given, kind)
    raise_faults("config.json does not describe a model that refimpl has", faults)
    return BertConfig(
        **{ours: given[theirs] for theirs, ours in kind.sizes.items()},
        **kind.fixed,
        norm_eps=float(given[eps.key] if eps.key else eps.default),
        activation=said.activations[given[activation]],
        n_label=n_label,
        pad_id=given["pad_token_id"],
    )


def config_to_hf(config, groups, *, model_type):
    """Write our settings as Hugging Face does, the inverse of `config_from_hf`.

    Parameters
    ----------
    config : BertConfig
        Our settings.
    groups : set of str
        The parts of the model that are there beside the encoder: "pooler", "mlm", "nsp", "classifier", "qa", "head".
    model_type : {"bert", "roberta", "distilbert", "albert"}
        Which.

    Returns
    -------
    dict of str to object
        The content of a config.json.
    """
    kind, said = RELATIVES[model_type], conventions(model_type)
    architecture = kind.names.architectures.get(frozenset(groups))
    return {
        **({"architectures": [architecture]} if architecture else {}),
        **{theirs: getattr(config, ours) for theirs, ours in kind.sizes.items()},
        "model_type": model_type,
        **({said.norm_eps.key: config.norm_eps} if said.norm_eps.key else {}),
        said.activation.key: OUR_ACTIVATIONS[config.activation],
        "pad_token_id": config.pad_id,
        **({} if model_type == "distilbert" else {"position_embedding_type": "absolute"}),
        "tie_word_embeddings": True,
        "num_labels": config.n_label,
    }


bert_config_from_hf = partial(config_from_hf, model_type="bert")
bert_config_to_hf = partial(config_to_hf, model_type="bert")


def _not_related(given, kind):
    faults = []
    width_key, heads_key = kind.key_of("d_model"), kind.key_of("n_head")
    width, heads = given[width_key], given[heads_key]
    if width % heads:
        faults.append(f"{width_key} must be a multiple of {heads_key} = {heads}, got {width}")
    if not 0 <= given["pad_token_id"] < given["vocab_size"]:
        faults.append(f"pad_token_id must be below vocab_size, got {given['pad_token_id']}")
    if "n_block" in kind.sizes.values() and given[kind.key_of("n_block")] > given[kind.key_of("n_layer")]:
        faults.append(f"num_hidden_groups must be at most num_hidden_layers, got {given['num_hidden_groups']}")
    return faults
