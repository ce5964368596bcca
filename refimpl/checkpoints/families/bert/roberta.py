"""The name map between a RoBERTa of Hugging Face and our parameters."""

import numpy as np

from refimpl.checkpoints.families.bert.names import LAYER_TABLE, TABLE, rows_of
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.names import Names, positions

ROBERTA = conventions("roberta")
# A pooler belongs to the bare model only: the head of classification has a dense map of its own.
ROBERTA_TABLE = [line for line in TABLE if line[0] not in ("mlm", "nsp")] + [
    ("mlm", "mlm.dense.weight", "lm_head.dense.weight", "d_model d_model"),
    ("mlm", "mlm.dense.bias", "lm_head.dense.bias", "d_model"),
    ("mlm", "mlm.norm.weight", "lm_head.layer_norm.weight", "d_model"),
    ("mlm", "mlm.norm.bias", "lm_head.layer_norm.bias", "d_model"),
    ("mlm", "mlm.decoder.bias", "lm_head.bias", "vocab_size"),
    ("head", "head.dense.weight", "classifier.dense.weight", "d_model d_model"),
    ("head", "head.dense.bias", "classifier.dense.bias", "d_model"),
    ("head", "head.out.weight", "classifier.out_proj.weight", "n_label d_model"),
    ("head", "head.out.bias", "classifier.out_proj.bias", "n_label"),
]


def roberta_rows(config):
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
    return rows_of(config, ROBERTA_TABLE, LAYER_TABLE, "encoder.layer.{i}.")


ROBERTA_NAMES = Names(
    rows=roberta_rows,
    required=frozenset({"encoder"}),
    architectures={
        frozenset(): "RobertaModel",
        frozenset({"pooler"}): "RobertaModel",
        frozenset({"mlm"}): "RobertaForMaskedLM",
        frozenset({"head"}): "RobertaForSequenceClassification",
        frozenset({"classifier"}): "RobertaForTokenClassification",
        frozenset({"qa"}): "RobertaForQuestionAnswering",
    },
    prefix=ROBERTA.prefix,
    bare=frozenset({"pooler"}),
    unprefixed=("lm_head.", "classifier.", "qa_outputs."),
    tied=lambda config: ROBERTA.tied_names,
    constants={"embeddings.position_ids": positions, "embeddings.token_type_ids": np.zeros},
)
