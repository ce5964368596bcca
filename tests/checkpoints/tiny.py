"""Tiny models of `transformers` with every irregularity: of each family a class and its sizes."""

import torch
import transformers

# Gone from the `transformers` that is installed here; test_transformer_xl.py asks another one.
ELSEWHERE = {"transfo-xl"}
BERT = {
    "vocab_size": 31, "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 3, "intermediate_size": 10,
    "max_position_embeddings": 13,
}  # fmt: skip
GPT = {"vocab_size": 31, "n_positions": 13, "n_embd": 12, "n_head": 3, "n_layer": 3}
LLAMA = {
    "vocab_size": 31, "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 2, "num_hidden_layers": 3,
    "intermediate_size": 14, "max_position_embeddings": 13,
}  # fmt: skip
# Rows of experts are multiples of 16 bytes in bfloat16: PyTorch's grouped matrix product takes no others.
EXPERTS = {"intermediate_size": 16, "num_experts_per_tok": 2, "bos_token_id": 1, "eos_token_id": 2}
SEQUENCES = {
    "vocab_size": 31, "d_model": 12, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 10, "decoder_ffn_dim": 14, "max_position_embeddings": 13,
    "pad_token_id": 1, "decoder_start_token_id": 2, "bos_token_id": 0, "eos_token_id": 2, "forced_eos_token_id": 2,
}  # fmt: skip
TINY = {
    "bert": BERT | {"type_vocab_size": 3},
    "roberta": BERT | {"type_vocab_size": 1},
    "distilbert": {
        "vocab_size": 31, "dim": 12, "n_heads": 3, "n_layers": 3, "hidden_dim": 10, "max_position_embeddings": 13,
    },
    "albert": BERT | {"type_vocab_size": 3, "embedding_size": 7},
    "openai-gpt": GPT,
    "gpt2": GPT | {"n_inner": 10, "bos_token_id": 1, "eos_token_id": 2},
    "llama": LLAMA,
    "mistral": LLAMA | {"sliding_window": 4},
    "mixtral": LLAMA | EXPERTS | {"num_local_experts": 3},
    "qwen2_moe": LLAMA | EXPERTS | {
        "num_experts": 3, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 11,
    },
    "gpt_neox": {
        "vocab_size": 31, "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 3,
        "intermediate_size": 14, "max_position_embeddings": 13, "rotary_pct": 0.5, "bos_token_id": 1, "eos_token_id": 2,
    },
    "bloom": {"vocab_size": 31, "hidden_size": 12, "n_head": 3, "n_layer": 3},
    "bart": SEQUENCES,
    "marian": SEQUENCES,
    "pegasus": SEQUENCES,
    "t5": {
        "vocab_size": 31, "d_model": 12, "d_kv": 5, "d_ff": 10, "num_layers": 2, "num_decoder_layers": 3,
        "num_heads": 3, "decoder_start_token_id": 0,
    },
    "clip": {
        "projection_dim": 7,
        "text_config": {
            "vocab_size": 31, "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 3,
            "intermediate_size": 10, "max_position_embeddings": 13, "bos_token_id": 1, "eos_token_id": 2,
        },
        "vision_config": {
            "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 14,
            "image_size": 6, "patch_size": 2,
        },
    },
    "longformer": BERT | {"type_vocab_size": 1, "attention_window": 4},
}  # fmt: skip


def tiny_config(model_type, **changes):
    """Build the configuration of `transformers`."""
    return transformers.AutoConfig.for_model(model_type, **(TINY[model_type] | changes))


def tiny_model(class_name, config, seed=0):
    """Build a model in which no weight is 0 or 1, so that none can be taken for another."""
    torch.manual_seed(seed)
    model = getattr(transformers, class_name)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:  # sinusoidal positions are parameters, but frozen
                parameter.normal_(std=0.5)
    return model
