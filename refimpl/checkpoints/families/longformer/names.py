"""The name map between a Hugging Face Longformer and our parameters, as one table."""

from refimpl.attention.sparse.longformer import GLOBAL, LOCAL
from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names, positions

EMBEDDINGS = {
    "token": ("word_embeddings", "vocab_size"),
    "position": ("position_embeddings", "n_position"),
    "segment": ("token_type_embeddings", "n_segment"),
}
# Ours and theirs within a block, and the shape of the weight; a bias has its first size.
BLOCK = {
    **{f"self_attn.{name}": (f"attention.self.{name}", "d_model d_model") for name in (*LOCAL, *GLOBAL)},
    "self_attn.out_proj": ("attention.output.dense", "d_model d_model"),
    "norm1": ("attention.output.LayerNorm", "d_model"),
    "linear1": ("intermediate.dense", "d_ff d_model"),
    "linear2": ("output.dense", "d_model d_ff"),
    "norm2": ("output.LayerNorm", "d_model"),
}


def longformer_rows(config):
    """List the parameters of a Longformer and what Hugging Face calls them.

    Parameters
    ----------
    config : LongformerConfig
        The sizes and settings.

    Returns
    -------
    list of Row
        One row for each of our parameters, those of the pooler included; their names are without prefix.
    """
    rows = [
        Row(f"embeddings.{ours}.weight", (f"embeddings.{theirs}.weight",), _shape(config, f"{n} d_model"), "encoder")
        for ours, (theirs, n) in EMBEDDINGS.items()
    ]
    rows += _pair("embeddings.norm", "embeddings.LayerNorm", _shape(config, "d_model"), "encoder")
    for i in range(config.n_layer):
        for ours, (theirs, sizes) in BLOCK.items():
            rows += _pair(
                f"encoder.layers.{i}.{ours}", f"encoder.layer.{i}.{theirs}", _shape(config, sizes), "encoder"
            )
    return rows + _pair("pooler", "pooler.dense", _shape(config, "d_model d_model"), "pooler")


def _pair(ours, theirs, shape, group):
    return [
        Row(f"{ours}.weight", (f"{theirs}.weight",), shape, group),
        Row(f"{ours}.bias", (f"{theirs}.bias",), shape[:1], group),
    ]


def _shape(config, sizes):
    return tuple(getattr(config, size) for size in sizes.split())


LONGFORMER_NAMES = Names(
    rows=longformer_rows,
    required=frozenset({"encoder"}),
    architectures={frozenset({"pooler"}): "LongformerModel"},
    prefix=conventions("longformer").prefix,
    bare=frozenset({"pooler"}),
    constants={"embeddings.position_ids": positions},
)
