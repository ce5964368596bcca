"""The name map between Bart, Marian or Pegasus of Hugging Face and our parameters, as one table."""

import numpy as np

from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names

NORMS = {"norm1": "self_attn_layer_norm", "norm2": "encoder_attn_layer_norm", "norm3": "final_layer_norm"}
ENCODER_NORMS = {"norm1": "self_attn_layer_norm", "norm2": "final_layer_norm"}
# By family the classes of `transformers` without and with a head.
CLASSES = {
    "bart": ("BartModel", "BartForConditionalGeneration"),
    "marian": ("MarianModel", "MarianMTModel"),
    "pegasus": ("PegasusModel", "PegasusForConditionalGeneration"),
}


def encoder_decoder_rows(config):
    """List the parameters of an encoder–decoder and what Hugging Face calls them.

    Parameters
    ----------
    config : EncoderDecoderConfig
        The sizes and settings.

    Returns
    -------
    list of Row
        One row for each of our parameters, that of the head included; their names are without prefix.
    """
    vocab_size, d_model = config.vocab_size, config.d_model
    rows = [
        Row("embedding.weight", ("shared.weight",), (vocab_size, d_model), "backbone"),
        Row("head.bias", ("final_logits_bias",), (1, vocab_size), "head", lifted=True),
    ]
    for half, n_layer, d_ff in (
        ("encoder", config.n_layer, config.d_ff),
        ("decoder", config.n_decoder_layer, config.d_decoder_ff),
    ):
        rows += _around(half, config)
        for i in range(n_layer):
            rows += _block(f"{half}.layers.{i}", d_model, d_ff, asks=half == "decoder")
    return rows


def concatenated_table(shape):
    """Compute the sinusoidal positions that older versions of Marian and Pegasus saved beside the weights.

    Parameters
    ----------
    shape : tuple of int
        (n_position, d_model).

    Returns
    -------
    numpy.ndarray, shape `shape`
        All sines before all cosines.
    """
    n_position, d_model = shape
    pair = np.arange((d_model + 1) // 2)
    angles = np.arange(n_position)[:, None] / 10000.0 ** (2.0 * pair / d_model)
    return np.concatenate([np.sin(angles), np.cos(angles[:, : d_model // 2])], axis=1)


def encoder_decoder_names(model_type):
    """Describe how a family's tensors are named.

    Parameters
    ----------
    model_type : {"bart", "marian", "pegasus"}
        Which.

    Returns
    -------
    Names
        The names.
    """
    bare, with_head = CLASSES[model_type]
    has_table = {r"(encoder|decoder)\.embed_positions\.weight": concatenated_table}
    return Names(
        rows=encoder_decoder_rows,
        required=frozenset({"backbone"}),
        architectures={frozenset(): bare, frozenset({"head"}): with_head},
        prefix=conventions(model_type).prefix,
        unprefixed=("final_logits_bias", "lm_head."),
        tied=lambda config: conventions(model_type).tied_names,
        constants={} if model_type == "bart" else has_table,
        computed=COMPUTED[model_type],
    )


def _tables(config, groups):
    table = concatenated_table((config.n_position, config.d_model))
    return {f"{half}.embed_positions.weight": table for half in ("encoder", "decoder")}


COMPUTED = {
    "bart": lambda config, groups: {},
    "marian": lambda config, groups: {} if "head" in groups else _tables(config, groups),
    "pegasus": _tables,
}


def _around(half, config):
    """List what stands before and after the blocks."""
    d_model, rows = config.d_model, []
    if config.positions == "learned":
        n_row = config.n_position + config.position_offset
        rows.append(Row(f"{half}.position.weight", (f"{half}.embed_positions.weight",), (n_row, d_model), "backbone"))
    if config.embedding_norm:
        rows += _vectors(f"{half}.embedding_norm", f"{half}.layernorm_embedding", d_model)
    if config.final_norm:
        rows += _vectors(f"{half}.norm", f"{half}.layer_norm", d_model)
    return rows


def _block(block, d_model, d_ff, *, asks):
    rows = _attention(f"{block}.self_attn", f"{block}.self_attn", d_model)
    if asks:
        rows += _attention(f"{block}.multihead_attn", f"{block}.encoder_attn", d_model)
    for ours, theirs, shape in (("linear1", "fc1", (d_ff, d_model)), ("linear2", "fc2", (d_model, d_ff))):
        rows.append(Row(f"{block}.{ours}.weight", (f"{block}.{theirs}.weight",), shape, "backbone"))
        rows.append(Row(f"{block}.{ours}.bias", (f"{block}.{theirs}.bias",), shape[:1], "backbone"))
    for ours, theirs in (NORMS if asks else ENCODER_NORMS).items():
        rows += _vectors(f"{block}.{ours}", f"{block}.{theirs}", d_model)
    return rows


def _attention(ours, theirs, d_model):
    rows = []
    for ending, shape in (("weight", (d_model, d_model)), ("bias", (d_model,))):
        fused = tuple(f"{theirs}.{name}_proj.{ending}" for name in "qkv")
        rows.append(Row(f"{ours}.in_proj_{ending}", fused, shape, "backbone"))
        rows.append(Row(f"{ours}.out_proj.{ending}", (f"{theirs}.out_proj.{ending}",), shape, "backbone"))
    return rows


def _vectors(ours, theirs, size):
    return [Row(f"{ours}.{each}", (f"{theirs}.{each}",), (size,), "backbone") for each in ("weight", "bias")]
