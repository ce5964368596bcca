"""The name map between a Transformer-XL of Hugging Face and our parameters, as one table."""

import numpy as np

from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names
from refimpl.layers.adaptive_clusters import cluster_bounds
from refimpl.models.transformer_xl.heads import softmax_sources

# Ours under layers.{i}, theirs under layers.{i}; the shape by TransformerXLConfig fields, d_inner = n_head * d_head
LAYER_TABLE = [
    ("self_attn.qkv_net.weight", "dec_attn.qkv_net.weight", "d_qkv d_model"),
    ("self_attn.r_net.weight", "dec_attn.r_net.weight", "d_inner d_model"),
    ("self_attn.o_net.weight", "dec_attn.o_net.weight", "d_model d_inner"),
    ("norm1.weight", "dec_attn.layer_norm.weight", "d_model"),
    ("norm1.bias", "dec_attn.layer_norm.bias", "d_model"),
    ("linear1.weight", "pos_ff.CoreNet.0.weight", "d_ff d_model"),
    ("linear1.bias", "pos_ff.CoreNet.0.bias", "d_ff"),
    ("linear2.weight", "pos_ff.CoreNet.3.weight", "d_model d_ff"),
    ("linear2.bias", "pos_ff.CoreNet.3.bias", "d_model"),
    ("norm2.weight", "pos_ff.layer_norm.weight", "d_model"),
    ("norm2.bias", "pos_ff.layer_norm.bias", "d_model"),
]
BIASES = ("r_w_bias", "r_r_bias")


def transformer_xl_rows(config):
    """List the parameters of a model.

    Parameters
    ----------
    config : refimpl.models.transformer_xl.config.TransformerXLConfig
        The sizes.

    Returns
    -------
    list of Row
        One row for each of our parameters, those of the softmax included; their names are without prefix.
    """
    sizes = {
        "d_model": config.d_model, "d_ff": config.d_ff,
        "d_inner": config.n_head * config.d_head, "d_qkv": 3 * config.n_head * config.d_head,
    }  # fmt: skip
    lines = [(ours, theirs, shape, "backbone") for ours, theirs, shape in _embedding(config)]
    for i in range(config.n_layer):
        for ours, theirs, names in LAYER_TABLE:
            shape = tuple(sizes[name] for name in names.split())
            lines.append((f"layers.{i}.{ours}", f"layers.{i}.{theirs}", shape, "backbone"))
    shape = (config.n_head, config.d_head)
    for bias in BIASES:
        if config.own_biases:
            places = [(f"layers.{i}.self_attn.{bias}", f"layers.{i}.dec_attn.{bias}") for i in range(config.n_layer)]
        else:
            places = [(bias, bias)]
        lines += [(ours, theirs, shape, "backbone") for ours, theirs in places]
    lines += [(ours, theirs, shape, "softmax") for ours, theirs, shape in _softmax(config)]
    return [Row(ours, (theirs,), shape, group) for ours, theirs, shape, group in lines]


def tied_names(config):
    """List the second names of parameters, which a file may hold too.

    Parameters
    ----------
    config : refimpl.models.transformer_xl.config.TransformerXLConfig
        The settings.

    Returns
    -------
    dict of (str, str)
        The first name by the second, both without prefix.
    """
    tied = {}
    for key, source, _ in softmax_sources(config):
        kind, i, *_ = key.split(".")
        if source.startswith("embedding.") and kind == "tables":
            table = source.split(".")[2]
            tied[f"crit.out_layers.{table}.weight"] = f"word_emb.emb_layers.{table}.weight"
        elif source.startswith("embedding."):
            tied[f"crit.out_projs.{i}"] = f"word_emb.emb_projs.{source.split('.')[2]}"
    if not config.own_biases:
        for i in range(config.n_layer):
            tied.update({f"layers.{i}.dec_attn.{bias}": bias for bias in BIASES})
    return tied


def _embedding(config):
    bounds = cluster_bounds(config.table_cutoffs, config.vocab_size)
    for i, ((start, end), width) in enumerate(zip(bounds, config.widths, strict=False)):
        yield f"embedding.tables.{i}.weight", f"word_emb.emb_layers.{i}.weight", (end - start, width)
        if config.projected:
            yield f"embedding.projections.{i}.weight", f"word_emb.emb_projs.{i}", (config.d_model, width)


def _softmax(config):
    n_other = len(config.cutoffs)
    if n_other:
        yield "softmax.clusters.weight", "crit.cluster_weight", (n_other, config.d_embed)
        yield "softmax.clusters.bias", "crit.cluster_bias", (n_other,)
    for i, (start, end) in enumerate(cluster_bounds(config.table_cutoffs, config.vocab_size)):
        yield f"softmax.tables.{i}.bias", f"crit.out_layers.{i}.bias", (end - start,)
    for key, source, _ in softmax_sources(config):
        if source == f"softmax.{key}" and key.startswith("projections."):
            i = int(key.split(".")[1])
            width = config.d_embed if config.div_val == 1 else config.widths[i]
            yield source, f"crit.out_projs.{i}", (config.d_model, width)


def frequencies(shape):
    """Compute the frequencies of the positions, which files hold beside the weights.

    Parameters
    ----------
    shape : tuple of int
        Their number, half of d_model.

    Returns
    -------
    numpy.ndarray, shape `shape`
        Falling from 1.
    """
    n = shape[0] if shape else 1
    return (1.0 / 10000.0 ** (np.arange(n) / n)).reshape(shape)


TRANSFORMER_XL_NAMES = Names(
    rows=transformer_xl_rows,
    required=frozenset({"backbone"}),
    architectures={frozenset(): "TransfoXLModel", frozenset({"softmax"}): "TransfoXLLMHeadModel"},
    prefix=conventions("transfo-xl").prefix,
    unprefixed=("crit.",),
    tied=tied_names,
    # Not written: the model computes them itself when it is built, in a float32 whose last bits are its own.
    constants={"pos_emb.inv_freq": frequencies},
)
