"""The name map between a Hugging Face BERT and our parameters, as one table."""

import numpy as np

from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names, positions

# group, our key, their names stacked along the first axis, the shape of each of theirs by BertConfig fields
TABLE = [
    ("encoder", "embeddings.token.weight", "embeddings.word_embeddings.weight", "vocab_size d_model"),
    ("encoder", "embeddings.position.weight", "embeddings.position_embeddings.weight", "n_position d_model"),
    ("encoder", "embeddings.segment.weight", "embeddings.token_type_embeddings.weight", "n_segment d_model"),
    ("encoder", "embeddings.norm.weight", "embeddings.LayerNorm.weight", "d_model"),
    ("encoder", "embeddings.norm.bias", "embeddings.LayerNorm.bias", "d_model"),
    ("pooler", "pooler.weight", "pooler.dense.weight", "d_model d_model"),
    ("pooler", "pooler.bias", "pooler.dense.bias", "d_model"),
    ("mlm", "mlm.dense.weight", "cls.predictions.transform.dense.weight", "d_model d_model"),
    ("mlm", "mlm.dense.bias", "cls.predictions.transform.dense.bias", "d_model"),
    ("mlm", "mlm.norm.weight", "cls.predictions.transform.LayerNorm.weight", "d_model"),
    ("mlm", "mlm.norm.bias", "cls.predictions.transform.LayerNorm.bias", "d_model"),
    ("mlm", "mlm.decoder.bias", "cls.predictions.bias", "vocab_size"),
    ("nsp", "nsp.weight", "cls.seq_relationship.weight", "2 d_model"),
    ("nsp", "nsp.bias", "cls.seq_relationship.bias", "2"),
    ("classifier", "classifier.weight", "classifier.weight", "n_label d_model"),
    ("classifier", "classifier.bias", "classifier.bias", "n_label"),
    # Two labels, first and last, where it is to find answers; `transformers` saves any number.
    ("qa", "qa.weight", "qa_outputs.weight", "n_label d_model"),
    ("qa", "qa.bias", "qa_outputs.bias", "n_label"),
]

# The same for one encoder block: ours under encoder.layers.{i}, theirs under encoder.layer.{i}
Q, K, V = (f"attention.self.{name}" for name in ("query", "key", "value"))
LAYER_TABLE = [
    ("self_attn.in_proj_weight", f"{Q}.weight {K}.weight {V}.weight", "d_model d_model"),
    ("self_attn.in_proj_bias", f"{Q}.bias {K}.bias {V}.bias", "d_model"),
    ("self_attn.out_proj.weight", "attention.output.dense.weight", "d_model d_model"),
    ("self_attn.out_proj.bias", "attention.output.dense.bias", "d_model"),
    ("norm1.weight", "attention.output.LayerNorm.weight", "d_model"),
    ("norm1.bias", "attention.output.LayerNorm.bias", "d_model"),
    ("linear1.weight", "intermediate.dense.weight", "d_ff d_model"),
    ("linear1.bias", "intermediate.dense.bias", "d_ff"),
    ("linear2.weight", "output.dense.weight", "d_model d_ff"),
    ("linear2.bias", "output.dense.bias", "d_model"),
    ("norm2.weight", "output.LayerNorm.weight", "d_model"),
    ("norm2.bias", "output.LayerNorm.bias", "d_model"),
]

BERT = conventions("bert")
PREFIX = BERT.prefix  # in front of every name but those of the heads, in a model that has heads
HEAD_NAMES = ("cls.", "classifier.", "qa_outputs.")
TIED = BERT.tied_names

# The class of `transformers` that has exactly these groups beside the encoder.
ARCHITECTURES = {
    frozenset(): "BertModel",
    frozenset({"pooler"}): "BertModel",
    frozenset({"mlm"}): "BertForMaskedLM",
    frozenset({"pooler", "nsp"}): "BertForNextSentencePrediction",
    frozenset({"pooler", "mlm", "nsp"}): "BertForPreTraining",
    frozenset({"pooler", "classifier"}): "BertForSequenceClassification",
    frozenset({"classifier"}): "BertForTokenClassification",
    frozenset({"qa"}): "BertForQuestionAnswering",
}


def bert_rows(config):
    """Fill the table with the sizes of a model.

    Parameters
    ----------
    config : refimpl.models.bert.config.BertConfig
        The sizes.

    Returns
    -------
    list of Row
        One row for each of our parameters, those of every head included; their names are without prefix.
    """
    return rows_of(config, TABLE, LAYER_TABLE, "encoder.layer.{i}.")


def rows_of(config, table, layer_table, layer):
    """Fill a table of this form, as the relatives of BERT have, too.

    Parameters
    ----------
    config : refimpl.models.bert.config.BertConfig
        The sizes.
    table : list of tuple
        Group, our key, their names and the shape of each.
    layer_table : list of tuple
        The same for one block, without the group.
    layer : str
        What stands before their names in block ``{i}``.

    Returns
    -------
    list of Row
        One row for each of our parameters.
    """
    lines = table + [
        ("encoder", f"encoder.layers.{i}.{ours}", _each(layer.format(i=i), theirs), sizes)
        for i in range(config.n_block or config.n_layer)
        for ours, theirs, sizes in layer_table
    ]
    return [Row(ours, tuple(theirs.split()), _shape(config, sizes), group) for group, ours, theirs, sizes in lines]


def _each(prefix, names):
    return " ".join(prefix + name for name in names.split())


def _shape(config, sizes):
    return tuple(int(size) if size.isdigit() else getattr(config, size) for size in sizes.split())


BERT_NAMES = Names(
    rows=bert_rows,
    required=frozenset({"encoder"}),
    architectures=ARCHITECTURES,
    prefix=PREFIX,
    bare=frozenset({"pooler"}),
    unprefixed=HEAD_NAMES,
    tied=lambda config: TIED,
    constants={"embeddings.position_ids": positions, "embeddings.token_type_ids": np.zeros},
    old_endings={".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"},
)
