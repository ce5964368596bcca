"""The name map between a DistilBERT of Hugging Face and our parameters."""

from refimpl.checkpoints.families.bert.names import TABLE, rows_of
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.names import Names, positions

DISTILBERT = conventions("distilbert")
WITHOUT = ("pooler", "mlm", "nsp")
# It knows no segments; what we call the pooler is the first map of its head of classification.
DISTILBERT_TABLE = [line for line in TABLE if line[0] not in WITHOUT and "segment" not in line[1]] + [
    ("pooler", "pooler.weight", "pre_classifier.weight", "d_model d_model"),
    ("pooler", "pooler.bias", "pre_classifier.bias", "d_model"),
    ("mlm", "mlm.dense.weight", "vocab_transform.weight", "d_model d_model"),
    ("mlm", "mlm.dense.bias", "vocab_transform.bias", "d_model"),
    ("mlm", "mlm.norm.weight", "vocab_layer_norm.weight", "d_model"),
    ("mlm", "mlm.norm.bias", "vocab_layer_norm.bias", "d_model"),
    ("mlm", "mlm.decoder.bias", "vocab_projector.bias", "vocab_size"),
]
Q, K, V = (f"attention.{name}_lin" for name in "qkv")
DISTILBERT_LAYER_TABLE = [
    ("self_attn.in_proj_weight", f"{Q}.weight {K}.weight {V}.weight", "d_model d_model"),
    ("self_attn.in_proj_bias", f"{Q}.bias {K}.bias {V}.bias", "d_model"),
    ("self_attn.out_proj.weight", "attention.out_lin.weight", "d_model d_model"),
    ("self_attn.out_proj.bias", "attention.out_lin.bias", "d_model"),
    ("norm1.weight", "sa_layer_norm.weight", "d_model"),
    ("norm1.bias", "sa_layer_norm.bias", "d_model"),
    ("linear1.weight", "ffn.lin1.weight", "d_ff d_model"),
    ("linear1.bias", "ffn.lin1.bias", "d_ff"),
    ("linear2.weight", "ffn.lin2.weight", "d_model d_ff"),
    ("linear2.bias", "ffn.lin2.bias", "d_model"),
    ("norm2.weight", "output_layer_norm.weight", "d_model"),
    ("norm2.bias", "output_layer_norm.bias", "d_model"),
]


def distilbert_rows(config):
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
    return rows_of(config, DISTILBERT_TABLE, DISTILBERT_LAYER_TABLE, "transformer.layer.{i}.")


DISTILBERT_NAMES = Names(
    rows=distilbert_rows,
    required=frozenset({"encoder"}),
    architectures={
        frozenset(): "DistilBertModel",
        frozenset({"mlm"}): "DistilBertForMaskedLM",
        frozenset({"pooler", "classifier"}): "DistilBertForSequenceClassification",
        frozenset({"classifier"}): "DistilBertForTokenClassification",
        frozenset({"qa"}): "DistilBertForQuestionAnswering",
    },
    prefix=DISTILBERT.prefix,
    unprefixed=("pre_classifier.", "classifier.", "qa_outputs.", "vocab_"),
    tied=lambda config: DISTILBERT.tied_names,
    constants={"embeddings.position_ids": positions},
)
