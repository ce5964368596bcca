"""The name map between an ALBERT of Hugging Face and our parameters."""

import numpy as np

from refimpl.checkpoints.families.bert.names import TABLE, rows_of
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.names import Names, positions

ALBERT = conventions("albert")
WITHOUT = ("pooler", "mlm", "nsp")
# Embeddings are narrower than the model; the head of masked tokens, whose decoder is tied to them, is so too.
ALBERT_TABLE = [
    (group, ours, theirs, sizes.replace("d_model", "d_embed") if ours.startswith("embeddings.") else sizes)
    for group, ours, theirs, sizes in TABLE
    if group not in WITHOUT
] + [
    ("encoder", "embeddings.projection.weight", "encoder.embedding_hidden_mapping_in.weight", "d_model d_embed"),
    ("encoder", "embeddings.projection.bias", "encoder.embedding_hidden_mapping_in.bias", "d_model"),
    ("pooler", "pooler.weight", "pooler.weight", "d_model d_model"),
    ("pooler", "pooler.bias", "pooler.bias", "d_model"),
    ("mlm", "mlm.dense.weight", "predictions.dense.weight", "d_embed d_model"),
    ("mlm", "mlm.dense.bias", "predictions.dense.bias", "d_embed"),
    ("mlm", "mlm.norm.weight", "predictions.LayerNorm.weight", "d_embed"),
    ("mlm", "mlm.norm.bias", "predictions.LayerNorm.bias", "d_embed"),
    ("mlm", "mlm.decoder.bias", "predictions.bias", "vocab_size"),
    # In ALBERT the question is which of two sentences came first.
    ("nsp", "nsp.weight", "sop_classifier.classifier.weight", "n_label d_model"),
    ("nsp", "nsp.bias", "sop_classifier.classifier.bias", "n_label"),
]
Q, K, V = (f"attention.{name}" for name in ("query", "key", "value"))
ALBERT_LAYER_TABLE = [
    ("self_attn.in_proj_weight", f"{Q}.weight {K}.weight {V}.weight", "d_model d_model"),
    ("self_attn.in_proj_bias", f"{Q}.bias {K}.bias {V}.bias", "d_model"),
    ("self_attn.out_proj.weight", "attention.dense.weight", "d_model d_model"),
    ("self_attn.out_proj.bias", "attention.dense.bias", "d_model"),
    ("norm1.weight", "attention.LayerNorm.weight", "d_model"),
    ("norm1.bias", "attention.LayerNorm.bias", "d_model"),
    ("linear1.weight", "ffn.weight", "d_ff d_model"),
    ("linear1.bias", "ffn.bias", "d_ff"),
    ("linear2.weight", "ffn_output.weight", "d_model d_ff"),
    ("linear2.bias", "ffn_output.bias", "d_model"),
    ("norm2.weight", "full_layer_layer_norm.weight", "d_model"),
    ("norm2.bias", "full_layer_layer_norm.bias", "d_model"),
]


def albert_rows(config):
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
    return rows_of(config, ALBERT_TABLE, ALBERT_LAYER_TABLE, "encoder.albert_layer_groups.{i}.albert_layers.0.")


ALBERT_NAMES = Names(
    rows=albert_rows,
    required=frozenset({"encoder"}),
    architectures={
        frozenset(): "AlbertModel",
        frozenset({"pooler"}): "AlbertModel",
        frozenset({"mlm"}): "AlbertForMaskedLM",
        frozenset({"pooler", "mlm", "nsp"}): "AlbertForPreTraining",
        frozenset({"pooler", "classifier"}): "AlbertForSequenceClassification",
        frozenset({"classifier"}): "AlbertForTokenClassification",
        frozenset({"qa"}): "AlbertForQuestionAnswering",
    },
    prefix=ALBERT.prefix,
    bare=frozenset({"pooler"}),
    unprefixed=("predictions.", "sop_classifier.", "classifier.", "qa_outputs."),
    tied=lambda config: ALBERT.tied_names,
    constants={"embeddings.position_ids": positions, "embeddings.token_type_ids": np.zeros},
)
