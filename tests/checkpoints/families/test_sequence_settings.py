"""Settings of Bart, Marian, Pegasus, T5, Longformer and CLIP: what is said, what is not, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import transformers

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.encoder_decoder.names import concatenated_table, encoder_decoder_names
from refimpl.checkpoints.families.encoder_decoder.settings import encoder_decoder_config_to_hf
from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.models.clip.config import ClipConfig
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.longformer.config import LongformerConfig
from refimpl.models.t5.config import T5Config
from tests.checkpoints.tiny import TINY

NAMES = ("bart", "marian", "pegasus", "t5", "longformer", "clip")
CONFIGS = {
    **dict.fromkeys(("bart", "marian", "pegasus"), EncoderDecoderConfig),
    "t5": T5Config, "longformer": LongformerConfig, "clip": ClipConfig,
}  # fmt: skip


def settings_of(name, **changes):
    return {"model_type": name, **TINY[name], **({"type_vocab_size": 1} if name == "longformer" else {}), **changes}


def read(name, **changes):
    return FAMILIES[name].config_from_hf(settings_of(name, **changes))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_said_is_as_in_transformers(name):
    full = transformers.AutoConfig.for_model(**settings_of(name)).to_dict()
    assert FAMILIES[name].config_from_hf(full) == read(name)
    assert isinstance(read(name), CONFIGS[name])


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name):
    config = read(name)
    assert FAMILIES[name].config_from_hf(FAMILIES[name].config_to_hf(config, frozenset())) == config


@pytest.mark.parametrize(
    ("name", "said", "change"),
    [
        ("bart", {"scale_embedding": True}, {"scale_embedding": True}),
        ("bart", {"activation_function": "gelu_new"}, {"activation": "gelu_tanh"}),
        ("marian", {"activation_function": "swish"}, {"activation": "silu"}),
        ("marian", {"static_position_embeddings": True, "normalize_before": False}, {}),
        ("pegasus", {"add_final_layer_norm": True, "normalize_before": True}, {}),
        ("t5", {"feed_forward_proj": "gated-gelu"}, {"activation": "gelu_tanh", "gated": True}),
        ("t5", {"feed_forward_proj": "gelu"}, {"activation": "gelu"}),
        ("t5", {"tie_word_embeddings": False}, {"scale_logits": False}),
        ("t5", {"tie_word_embeddings": True, "scale_decoder_outputs": False}, {"scale_logits": False}),
        ("t5", {"num_decoder_layers": None}, {"n_decoder_layer": 2}),
        ("t5", {"layer_norm_epsilon": 1e-5}, {"norm_eps": 1e-5}),
        ("longformer", {"attention_window": [2, 4, 6]}, {"reaches": (1, 2, 3)}),
        ("longformer", {"attention_window": None}, {"reaches": (256,) * 3}),
    ],
)
def test_what_is_said_counts(name, said, change):
    assert read(name, **said) == replace(read(name), **change)


def test_the_end_of_a_text_in_clip():
    text = TINY["clip"]["text_config"]
    assert read("clip").eos_id is None  # 2 stands for the largest id
    assert read("clip", text_config=text | {"eos_token_id": 5}).eos_id == 5
    with pytest.raises(CheckpointError, match="eos_id 2 means the largest id there"):
        FAMILIES["clip"].config_to_hf(replace(read("clip"), eos_id=2), frozenset())


@pytest.mark.parametrize(
    ("name", "said", "message"),
    [
        ("bart", {"normalize_before": True}, "normalize_before must be absent or False, got True"),
        ("bart", {"encoder_layers": 0}, "encoder_layers must be an integer from 1 to"),
        ("bart", {"d_model": 13}, "d_model must be a multiple of encoder_attention_heads = 3, got 13"),
        ("bart", {"pad_token_id": 31}, "pad_token_id must be an integer below vocab_size, got 31"),
        ("marian", {"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings must be absent or"),
        ("marian", {"decoder_vocab_size": 30}, "decoder_vocab_size must be absent or 31, got 30"),
        ("pegasus", {"activation_function": "mish"}, "activation_function must be one of .*got 'mish'"),
        ("t5", {"feed_forward_proj": "gated-swish"}, "feed_forward_proj must be one of .*got 'gated-swish'"),
        ("t5", {"relative_attention_num_buckets": 7}, "relative_attention_num_buckets must be even"),
        ("t5", {"relative_attention_max_distance": 16}, "relative_attention_max_distance must be greater than 16"),
        ("t5", {"is_decoder": True}, "is_decoder must be absent or False, got True"),
        ("longformer", {"attention_window": 5}, r"attention_window must be even, got \[5, 5, 5\]"),
        ("longformer", {"attention_window": [4, 4]}, "or one for each of 3 blocks, got"),
        ("longformer", {"position_embedding_type": "relative_key"}, "position_embedding_type must be absent or"),
        ("clip", {"projection_dim": 0}, "projection_dim must be an integer from 1 to"),
        ("clip", {"text_config": 3}, "text_config must be an object, got 3"),
        ("clip", {"vision_config": {"patch_size": 5}}, "image_size must be a multiple of patch_size = 5, got 224"),
        ("clip", {"vision_config": {"hidden_act": "mish"}}, "vision_config: hidden_act must be one of .*got 'mish'"),
    ],
)
def test_what_is_refused_by_key_and_value(name, said, message):
    with pytest.raises(CheckpointError, match=message):
        read(name, **said)


def test_a_configuration_that_a_family_cannot_have_is_refused_by_every_setting():
    vaswani = replace(read("marian"), positions="interleaved", final_norm=True)
    with pytest.raises(CheckpointError) as caught:
        encoder_decoder_config_to_hf(vaswani, frozenset(), model_type="marian")
    lines = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert lines == [
        "positions must be 'concatenated' in marian, got 'interleaved'",
        "final_norm must be False in marian, got True",
    ]


@pytest.mark.parametrize("name", ["marian", "pegasus"])
def test_positions_that_were_saved_are_checked_and_left_out(name):
    config, names = read(name), encoder_decoder_names(name)
    params = {row.ours: np.ones(row.our_shape, np.float32) for row in names.rows(config)}
    table = concatenated_table((config.n_position, config.d_model)).astype(np.float32)
    saved = {f"model.{half}.embed_positions.weight": table for half in ("encoder", "decoder")}
    tensors = names.to_hf(params, config) | saved
    assert names.from_hf(tensors, config).keys() == params.keys()
    with pytest.raises(CheckpointError, match=r"model\.encoder\.embed_positions\.weight must hold the constants"):
        names.from_hf(tensors | {"model.encoder.embed_positions.weight": table[:, ::-1].copy()}, config)


def test_a_head_of_its_own_in_t5_and_one_that_should_be_tied():
    names = FAMILIES["t5"].names
    for config in (read("t5"), read("t5", tie_word_embeddings=False)):
        params = {row.ours: np.ones(row.our_shape, np.float32) for row in names.rows(config) if row.group != "head"}
        tensors = names.to_hf(params, config) | {"lm_head.weight": np.zeros((31, 12), np.float32)}
        if config.scale_logits:
            with pytest.raises(CheckpointError, match=r"lm_head\.weight must equal shared\.weight"):
                names.from_hf(tensors, config)
        else:
            assert "head.weight" in names.from_hf(tensors, config)
