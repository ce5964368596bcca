"""Decoder-only models between a folder of Hugging Face and our parameters, for every family."""

from dataclasses import replace

import numpy as np
import pytest
import transformers

from compare.cases.bloom import BLOOM, UNTIED
from compare.cases.decoder import draw_decoder
from compare.cases.gpt_neox import PARALLEL, SEQUENTIAL
from compare.cases.llama import DYNAMIC, LINEAR, LLAMA, MISTRAL, YARN
from compare.cases.mixtral import MIXTRAL, QWEN2_MOE, RENORMALISED
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.registry import family_named
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder

FAMILIES = {
    "llama": ("llama", LLAMA),
    "llama, untied": ("llama", replace(LLAMA, tied=False)),
    "llama, linear": ("llama", LINEAR),
    "llama, dynamic": ("llama", DYNAMIC),
    "llama, yarn": ("llama", YARN),
    "mistral": ("mistral", MISTRAL),
    "mixtral": ("mixtral", MIXTRAL),
    "qwen2_moe": ("qwen2_moe", QWEN2_MOE),
    "qwen2_moe, renormalised": ("qwen2_moe", RENORMALISED),
    "gpt_neox": ("gpt_neox", PARALLEL),
    "gpt_neox, sequential": ("gpt_neox", SEQUENTIAL),
    "bloom": ("bloom", BLOOM),
    "bloom, untied": ("bloom", UNTIED),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_what_we_save_is_loaded_whole_and_what_they_save_is_the_same(name, tmp_path):
    model_type, config = FAMILIES[name]
    inputs = draw_decoder(np.random.default_rng(3), config=config, n_batch=1, n_seq=1, headed=True)
    params = {key: x.astype(np.float32) for key, x in inputs.args[1].items()}
    save_folder(tmp_path / "ours", Checkpoint(model_type, params, config))
    model, told = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(told.values())

    model.save_pretrained(tmp_path / "theirs")
    loaded = load_folder(tmp_path / "theirs")
    assert loaded.config == config
    assert loaded.params.keys() == params.keys()
    for key, x in params.items():
        np.testing.assert_array_equal(loaded.params[key], x, err_msg=key)


@pytest.mark.parametrize("name", FAMILIES)
def test_settings_there_and_back(name):
    model_type, config = FAMILIES[name]
    family = family_named(model_type)
    assert family.config_from_hf(family.config_to_hf(config, {"head"})) == config


def test_older_names_of_settings_are_read():
    family = family_named("llama")
    new = family.config_to_hf(LINEAR, {"head"})
    rope = new.pop("rope_parameters")
    old = {"rope_theta": rope["rope_theta"], "rope_scaling": {"type": "linear", "factor": rope["factor"]}}
    assert family.config_from_hf(new | old) == LINEAR
    family = family_named("gpt_neox")
    new = family.config_to_hf(PARALLEL, {"head"})
    rope = new.pop("rope_parameters")
    old = {"rotary_emb_base": rope["rope_theta"], "rotary_pct": rope["partial_rotary_factor"]}
    assert family.config_from_hf(new | old) == PARALLEL
    family = family_named("bloom")
    new = family.config_to_hf(BLOOM, {"head"})
    old = {"n_embed": new.pop("hidden_size"), "num_hidden_layers": new.pop("n_layer")}
    assert family.config_from_hf(new | old) == BLOOM


REFUSED = [
    ("llama", LLAMA, {"hidden_act": "quick_gelu"}, "hidden_act must be one of .*, got 'quick_gelu'"),
    ("llama", LLAMA, {"attention_bias": "yes"}, "attention_bias must be true or false, got 'yes'"),
    ("llama", LLAMA, {"rms_norm_eps": 0}, "rms_norm_eps must be a number between 0 and 1, got 0"),
    ("llama", LLAMA, {"num_key_value_heads": 3}, "num_attention_heads must be a multiple of num_key_value_heads = 3"),
    ("llama", LLAMA, {"head_dim": 5}, "head_dim must be even to be turned in pairs, got 5"),
    ("llama", LLAMA, {"rope_parameters": {"rope_type": "longrope"}}, "rope_type must be one of .*, got 'longrope'"),
    ("llama", LLAMA, {"rope_parameters": {"rope_type": "linear"}}, "factor must be a positive number .*, got None"),
    (
        "llama", LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "mscale": 0.7}},
        "mscale must be absent for rope_type yarn, got 0.7",
    ),
    ("llama", LLAMA, {"rope_parameters": {"rope_theta": 1}}, "rope_theta must be a number above 1, got 1"),
    ("llama", LLAMA, {"rope_parameters": [3]}, r"rope_parameters must be an object, got \[3\]"),
    ("mistral", MISTRAL, {"sliding_window": 0}, "sliding_window must be an integer from 1 to .*, got 0"),
    ("mixtral", MIXTRAL, {"num_experts_per_tok": 1}, "num_experts_per_tok must be an integer from 2 to .*, 5, got 1"),
    ("qwen2_moe", QWEN2_MOE, {"num_experts_per_tok": 9}, "num_experts_per_tok must be an integer from 1 .* 4, got 9"),
    ("qwen2_moe", QWEN2_MOE, {"use_sliding_window": True}, "use_sliding_window must be absent or False, got True"),
    ("qwen2_moe", QWEN2_MOE, {"mlp_only_layers": ["a"]}, r"mlp_only_layers must be a list of layers, got \['a'\]"),
    (
        "gpt_neox", PARALLEL, {"rope_parameters": {"partial_rotary_factor": 0.5}},
        "partial_rotary_factor must turn an even number of features, got 3",
    ),
    ("bloom", BLOOM, {"n_head": 4}, "hidden_size must be a multiple of n_head = 4, got 15"),
    (
        "bloom", BLOOM, {"apply_residual_connection_post_layernorm": True},
        "apply_residual_connection_post_layernorm must be absent or False, got True",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "config", "change", "message"), REFUSED)
def test_a_setting_that_is_not_supported_is_refused_by_key_and_value(model_type, config, change, message):
    family = family_named(model_type)
    with pytest.raises(CheckpointError, match=message):
        family.config_from_hf(family.config_to_hf(config, {"head"}) | change)
