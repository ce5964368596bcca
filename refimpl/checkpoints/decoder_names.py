"""The name maps between the decoder-only models of Hugging Face and our parameters, one table for each family."""

import re

from refimpl.checkpoints.name_map import Row
from refimpl.models.decoder.config import decoder_shapes

# By our key without its ending, what stands in place of it in theirs; {i} is a layer, {j} an expert.
LLAMA = {
    "embeddings.token": "embed_tokens",
    "layers.{i}.norm1": "layers.{i}.input_layernorm",
    "layers.{i}.norm2": "layers.{i}.post_attention_layernorm",
    **{f"layers.{{i}}.self_attn.{key}": f"layers.{{i}}.self_attn.{key}" for key in ("q_proj", "k_proj", "v_proj", "o_proj")},
    **{f"layers.{{i}}.feed.{key}": f"layers.{{i}}.mlp.{key}" for key in ("gate_proj", "up_proj", "down_proj")},
    "norm": "norm",
    "head": "lm_head",
}  # fmt: skip
