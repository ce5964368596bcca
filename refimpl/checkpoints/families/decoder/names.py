"""The name maps between the decoder-only models of Hugging Face and our parameters, one table for each family."""

import re
from functools import partial

from refimpl.checkpoints.name_map import Row
from refimpl.checkpoints.names import Names
from refimpl.models.decoder.config import decoder_shapes

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
GATED = ("gate_proj", "up_proj", "down_proj")

# What stands in place of our keys in theirs, without their endings; {i} is the layer, {j} one of the experts, whose
# arrays are stacked in ours.
LLAMA = {
    "embeddings.token": "embed_tokens",
    "layers.{i}.norm1": "layers.{i}.input_layernorm",
    **{f"layers.{{i}}.self_attn.{key}": f"layers.{{i}}.self_attn.{key}" for key in PROJECTIONS},
    "layers.{i}.norm2": "layers.{i}.post_attention_layernorm",
    **{f"layers.{{i}}.feed.{key}": f"layers.{{i}}.mlp.{key}" for key in GATED},
    "norm": "norm",
    "head": "lm_head",
}
FEED, SPARSE = "layers.{i}.feed.", "layers.{i}.block_sparse_moe."
MIXTRAL = {
    **LLAMA,
    f"{FEED}router": f"{SPARSE}gate",
    **{f"{FEED}experts.{key}": f"{SPARSE}experts.{{j}}.w{w}" for key, w in zip(GATED, (1, 3, 2), strict=True)},
}
QWEN2_MOE = {
    **LLAMA,
    f"{FEED}router": "layers.{i}.mlp.gate",
    **{f"{FEED}experts.{key}": f"layers.{{i}}.mlp.experts.{{j}}.{key}" for key in GATED},
    **{f"{FEED}shared.network.{key}": f"layers.{{i}}.mlp.shared_expert.{key}" for key in GATED},
    f"{FEED}shared.opening": "layers.{i}.mlp.shared_expert_gate",
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

LAYER = re.compile(r"layers\.(\d+)\.")


def decoder_names(table, *, prefix, classes):
    """Make the name map of a family.

    Parameters
    ----------
    table : dict of (str, str)
        One of the above.
    prefix : str
        What stands in front of all names but that of the head, in a model that has one.
    classes : str
        What the classes of `transformers` begin with, such as ``"Llama"``.

    Returns
    -------
    Names
        The name map.
    """
    head = f"{table['head']}.weight"
    return Names(
        rows=partial(decoder_rows, table=table),
        required=frozenset({"backbone"}),
        architectures={frozenset(): f"{classes}Model", frozenset({"head"}): f"{classes}ForCausalLM"},
        prefix=prefix,
        unprefixed=(head,),
        tied=partial(_tied, head=head, first=f"{table['embeddings.token']}.weight"),
    )


def decoder_rows(config, *, table):
    """Fill the table of a family with the sizes of a model.

    Parameters
    ----------
    config : refimpl.models.decoder.config.DecoderConfig
        The sizes.
    table : dict of (str, str)
        One of the above.

    Returns
    -------
    list of Row
        One row for each of our parameters, the names of theirs without prefix; a head is a group of its own.
    """
    return [_row(ours, shape, config, table) for ours, shape in decoder_shapes(config).items()]


def _row(ours, shape, config, table):
    stem, _, ending = ours.rpartition(".")
    layer = LAYER.match(ours)
    theirs = table[LAYER.sub("layers.{i}.", stem)].replace("{i}", layer[1] if layer else "") + f".{ending}"
    group = "head" if stem == "head" else "backbone"
    if "{j}" in theirs:
        names = tuple(theirs.replace("{j}", str(j)) for j in range(shape[0]))
        return Row(ours, names, shape[1:], group, stacked=True)
    return Row(ours, (theirs,), shape, group, n_head=config.n_head if stem.endswith("qkv_proj") else 0)


def _tied(config, *, head, first):
    return {head: first} if config.tied else {}


LLAMA_NAMES = decoder_names(LLAMA, prefix="model.", classes="Llama")
MISTRAL_NAMES = decoder_names(LLAMA, prefix="model.", classes="Mistral")
MIXTRAL_NAMES = decoder_names(MIXTRAL, prefix="model.", classes="Mixtral")
QWEN2_MOE_NAMES = decoder_names(QWEN2_MOE, prefix="model.", classes="Qwen2Moe")
GPT_NEOX_NAMES = decoder_names(GPT_NEOX, prefix="gpt_neox.", classes="GPTNeoX")
BLOOM_NAMES = decoder_names(BLOOM, prefix="transformer.", classes="Bloom")
