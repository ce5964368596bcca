"""The name maps between the decoder-only models of Hugging Face and our parameters, one table for each family."""

import re

from refimpl.checkpoints.name_map import Row
from refimpl.models.decoder.config import decoder_shapes

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
GATED = ("gate_proj", "up_proj", "down_proj")

# What stands in place of our keys in theirs, without their endings; {i} is the layer.
LLAMA = {
    "embeddings.token": "embed_tokens",
    "layers.{i}.norm1": "layers.{i}.input_layernorm",
    **{f"layers.{{i}}.self_attn.{key}": f"layers.{{i}}.self_attn.{key}" for key in PROJECTIONS},
    "layers.{i}.norm2": "layers.{i}.post_attention_layernorm",
    **{f"layers.{{i}}.feed.{key}": f"layers.{{i}}.mlp.{key}" for key in GATED},
    "norm": "norm",
    "head": "lm_head",
}
GPT_NEOX = {
    "embeddings.token": "embed_in",
    "layers.{i}.norm1": "layers.{i}.input_layernorm",
    "layers.{i}.self_attn.qkv_proj": "layers.{i}.attention.query_key_value",
    "layers.{i}.self_attn.o_proj": "layers.{i}.attention.dense",
    "layers.{i}.norm2": "layers.{i}.post_attention_layernorm",
    "layers.{i}.feed.linear1": "layers.{i}.mlp.dense_h_to_4h",
    "layers.{i}.feed.linear2": "layers.{i}.mlp.dense_4h_to_h",
    "norm": "final_layer_norm",
    "head": "embed_out",
}
BLOOM = {
    "embeddings.token": "word_embeddings",
    "embeddings.norm": "word_embeddings_layernorm",
    "layers.{i}.norm1": "h.{i}.input_layernorm",
    "layers.{i}.self_attn.qkv_proj": "h.{i}.self_attention.query_key_value",
    "layers.{i}.self_attn.o_proj": "h.{i}.self_attention.dense",
    "layers.{i}.norm2": "h.{i}.post_attention_layernorm",
    "layers.{i}.feed.linear1": "h.{i}.mlp.dense_h_to_4h",
    "layers.{i}.feed.linear2": "h.{i}.mlp.dense_4h_to_h",
    "norm": "ln_f",
    "head": "lm_head",
}

TABLES = {"llama": LLAMA, "mistral": LLAMA, "gpt_neox": GPT_NEOX, "bloom": BLOOM}
PREFIXES = {"llama": "model.", "mistral": "model.", "gpt_neox": "gpt_neox.", "bloom": "transformer."}
LAYER = re.compile(r"layers\.(\d+)\.")


def decoder_rows(config, model_type):
    """Fill the table of a family with the sizes of a model.

    Parameters
    ----------
    config : refimpl.models.decoder.config.DecoderConfig
        The sizes.
    model_type : str
        The family, as config.json calls it.

    Returns
    -------
    list of Row
        One row for each of our parameters, the names of theirs without prefix; the head is a group of its own.
    """
    return [_row(ours, shape, config, TABLES[model_type]) for ours, shape in decoder_shapes(config).items()]


def _row(ours, shape, config, table):
    stem, _, ending = ours.rpartition(".")
    layer = LAYER.match(ours)
    theirs = table[LAYER.sub("layers.{i}.", stem)].replace("{i}", layer[1] if layer else "")
    group = "head" if stem == "head" else "backbone"
    n_head = config.n_head if stem.endswith("qkv_proj") else 0
    return Row(ours, (f"{theirs}.{ending}",), shape, group, n_head=n_head)
