"""The name map between a Hugging Face T5 and our parameters, as one table."""

from refimpl.checkpoints.ledger import conventions
from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names

ATTENTION = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o"}
FEED = {"linear1": "wi", "linear2": "wo"}
GATED_FEED = {"gate_proj": "wi_0", "up_proj": "wi_1", "down_proj": "wo"}
ARCHITECTURES = {frozenset(): "T5ForConditionalGeneration", frozenset({"head"}): "T5ForConditionalGeneration"}


def t5_rows(config):
    """List the parameters of a T5 and what Hugging Face calls them.

    Parameters
    ----------
    config : T5Config
        The sizes and settings.

    Returns
    -------
    list of Row
        One row for each of our parameters, that of a head of its own included.
    """
    table = (config.vocab_size, config.d_model)
    rows = [Row("embedding.weight", ("shared.weight",), table, "backbone")]
    rows.append(Row("head.weight", ("lm_head.weight",), table, "head"))
    for half, n_layer in (("encoder", config.n_layer), ("decoder", config.n_decoder_layer)):
        first = f"{half}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        rows.append(Row(f"{half}.distances.weight", (first,), (config.n_bucket, config.n_head), "backbone"))
        rows.append(Row(f"{half}.norm.weight", (f"{half}.final_layer_norm.weight",), (config.d_model,), "backbone"))
        for i in range(n_layer):
            rows += _block(f"{half}.layers.{i}", f"{half}.block.{i}.layer", config, asks=half == "decoder")
    return rows


def _block(ours, theirs, config, *, asks):
    d_inner = config.n_head * config.d_head
    parts = [("self_attn", "SelfAttention"), *([("cross_attn", "EncDecAttention")] if asks else [])]
    rows = []
    for i, (part, name) in enumerate(parts):
        rows.append(_row(f"{ours}.norm{i + 1}", f"{theirs}.{i}.layer_norm", (config.d_model,)))
        for key, short in ATTENTION.items():
            shape = (config.d_model, d_inner) if short == "o" else (d_inner, config.d_model)
            rows.append(_row(f"{ours}.{part}.{key}", f"{theirs}.{i}.{name}.{short}", shape))
    i = len(parts)
    rows.append(_row(f"{ours}.norm{i + 1}", f"{theirs}.{i}.layer_norm", (config.d_model,)))
    for key, short in (GATED_FEED if config.gated else FEED).items():
        shape = (config.d_model, config.d_ff) if short == "wo" else (config.d_ff, config.d_model)
        rows.append(_row(f"{ours}.feed.{key}", f"{theirs}.{i}.DenseReluDense.{short}", shape))
    return rows


def _row(ours, theirs, shape):
    return Row(f"{ours}.weight", (f"{theirs}.weight",), shape, "backbone")


def _tied(config):
    """List the second names: T5 1.1, which does not scale its logits, may have a head of its own."""
    names = conventions("t5").tied_names
    return {second: first for second, first in names.items() if config.scale_logits or second != "lm_head.weight"}


T5_NAMES = Names(
    rows=t5_rows,
    required=frozenset({"backbone"}),
    architectures=ARCHITECTURES,
    tied=_tied,
)
