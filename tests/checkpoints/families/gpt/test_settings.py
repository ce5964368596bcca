from dataclasses import replace

import pytest
import transformers

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.gpt.settings import gpt_config_from_hf, gpt_config_to_hf
from refimpl.models.gpt.config import GptConfig

GPT2 = {"model_type": "gpt2", "vocab_size": 31, "n_positions": 11, "n_embd": 12, "n_head": 4, "n_layer": 2}
GPT1 = GPT2 | {"model_type": "openai-gpt"}
SIZES = {"vocab_size": 31, "n_position": 11, "d_model": 12, "n_head": 4, "n_layer": 2, "d_ff": 48}


def test_what_is_not_said_is_as_in_transformers():
    assert gpt_config_from_hf(GPT2) == GptConfig(**SIZES, bos_id=50256, eos_id=50256)
    assert gpt_config_from_hf(GPT1) == GptConfig(**SIZES, norm_first=False)
    for ours, theirs in [(GPT2, transformers.GPT2Config), (GPT1, transformers.OpenAIGPTConfig)]:
        full = theirs(**{key: value for key, value in ours.items() if key != "model_type"}).to_dict()
        assert gpt_config_from_hf(full) == gpt_config_from_hf(ours)


def test_null_is_the_default_but_for_tokens():
    nulls = {"n_inner": None, "activation_function": None, "layer_norm_epsilon": None, "eos_token_id": None}
    assert gpt_config_from_hf(GPT2 | nulls) == GptConfig(**SIZES, bos_id=50256)


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        (GPT2 | {"n_inner": 20}, {"d_ff": 20}),
        (GPT2 | {"activation_function": "gelu"}, {"activation": "gelu"}),
        (GPT2 | {"activation_function": "gelu_new"}, {"activation": "gelu_tanh"}),
        (GPT2 | {"activation_function": "swish"}, {"activation": "silu"}),
        (GPT1 | {"afn": "gelu"}, {"activation": "gelu_tanh"}),
        (GPT1 | {"afn": "relu"}, {"activation": "relu"}),
        (GPT2 | {"layer_norm_epsilon": 1e-6}, {"norm_eps": 1e-6}),
        (GPT2 | {"tie_word_embeddings": False}, {"tied": False}),
        (GPT2 | {"id2label": {"0": "a", "1": "b", "2": "c"}}, {"n_label": 3}),
        (GPT2 | {"pad_token_id": 3}, {"pad_id": 3}),
        (GPT1 | {"eos_token_id": 40477}, {"eos_id": 40477}),
        (GPT2 | {"eos_token_id": [1, 2]}, {"eos_id": (1, 2)}),
        (GPT2 | {"reorder_and_upcast_attn": True}, {}),
    ],
)
def test_what_is_said_counts(settings, change):
    base = gpt_config_from_hf({key: settings[key] for key in GPT2})
    assert gpt_config_from_hf(settings) == replace(base, **change)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "gpt_neo"}, "model_type must be 'gpt2' or 'openai-gpt', got 'gpt_neo'"),
        ({"model_type": ["gpt2"]}, "model_type must be 'gpt2' or 'openai-gpt', got ['gpt2']"),
        ({"scale_attn_weights": False}, "scale_attn_weights must be absent or True, got False"),
        (
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx must be absent or False, got True",
        ),
        ({"add_cross_attention": True}, "add_cross_attention must be absent or False, got True"),
        ({"quantization_config": {}}, "quantization_config must be absent, got {}"),
        ({"n_layer": 0}, "n_layer must be an integer from 1 to"),
        ({"n_inner": 2.5}, "n_inner must be an integer from 1 to"),
        ({"activation_function": "mish"}, "activation_function must be one of"),
        ({"layer_norm_epsilon": 0}, "layer_norm_epsilon must be a number between 0 and 1, got 0"),
        ({"eos_token_id": []}, "eos_token_id must be null or an integer or a list of integers, got []"),
        ({"eos_token_id": [1, True]}, "eos_token_id must be null or an integer or a list of integers, got [1, True]"),
        ({"eos_token_id": [1, [2]]}, "eos_token_id must be null or an integer or a list of integers, got [1, [2]]"),
        ({"bos_token_id": [1, 2]}, "bos_token_id must be null or an integer, got [1, 2]"),
        ({"n_head": 5}, "n_embd must be a multiple of n_head = 5, got 12"),
    ],
)
def test_what_we_do_not_have_is_refused_by_key_and_value(settings, message):
    with pytest.raises(CheckpointError) as caught:
        gpt_config_from_hf(GPT2 | settings)
    assert message in str(caught.value)


def test_every_fault_is_named():
    with pytest.raises(CheckpointError) as caught:
        gpt_config_from_hf({"model_type": "gpt2", "n_head": "4", "add_cross_attention": True})
    for words in ("vocab_size is missing", "n_embd is missing", "n_head must be", "add_cross_attention must be"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "config",
    [
        GptConfig(**SIZES),
        GptConfig(**SIZES | {"d_ff": 20}, activation="silu", tied=False, n_label=5, pad_id=0, bos_id=1, eos_id=2),
        GptConfig(**SIZES, norm_first=False, norm_eps=1e-6),
        GptConfig(**SIZES, norm_first=False, activation="relu", eos_id=3),
        GptConfig(**SIZES, eos_id=(3, 5)),
    ],
)
def test_there_and_back_is_the_same(config):
    settings = gpt_config_to_hf(config, {"classifier"})
    assert gpt_config_from_hf(settings) == config
    their_class = {"gpt2": transformers.GPT2Config, "openai-gpt": transformers.OpenAIGPTConfig}[settings["model_type"]]
    assert gpt_config_from_hf(their_class(**settings).to_dict()) == config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (GptConfig(**SIZES, window=3), "window must be None, got 3"),
        (GptConfig(**SIZES, norm_first=False, activation="gelu"), "in openai-gpt, got gelu"),
        (GptConfig(**SIZES | {"d_ff": 20}, norm_first=False), "d_ff must be 4 * d_model = 48 in openai-gpt, got 20"),
    ],
)
def test_what_transformers_does_not_have_is_refused(config, message):
    with pytest.raises(CheckpointError) as caught:
        gpt_config_to_hf(config, set())
    assert message in str(caught.value)
