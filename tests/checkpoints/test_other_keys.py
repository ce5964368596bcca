"""Settings that stand under two keys, or at two places: `transformers` hears one of them, and so must we."""

import json
from dataclasses import replace

import pytest
import torch
import transformers

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.folder import load_folder, save_folder
from refimpl.checkpoints.ledger import conventions
from refimpl.positions.rotary_scaling import LinearScaling
from tests.checkpoints.tiny import ELSEWHERE, TINY, tiny_config, tiny_model

HERE = [name for name in FAMILIES if name not in ELSEWHERE]
SECOND = [(name, *keys) for name in HERE for keys in conventions(name).other_keys.items()]
YARN = {"rope_type": "yarn", "factor": 2.0, "rope_theta": 100.0}
LLAMA3 = YARN | {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def settings_of(name, **changes):
    return json.loads(tiny_config(name).to_json_string(use_diff=False)) | changes


@pytest.mark.parametrize("name", HERE)
def test_the_ledger_knows_every_second_key(name):
    kind = transformers.models.auto.configuration_auto.CONFIG_MAPPING[name]
    assert kind.attribute_map.items() <= conventions(name).other_keys.items()


@pytest.mark.parametrize(("name", "second", "first"), SECOND)
def test_a_second_key_is_heard_like_the_first_and_may_not_contradict_it(name, second, first):
    settings = settings_of(name)
    said = settings[first]
    # Without our check the model would silently be another one than that of `transformers`.
    theirs = transformers.AutoConfig.for_model(name, **(TINY[name] | {first: said, second: 2 * said}))
    assert getattr(theirs, first) == 2 * said
    read = FAMILIES[name].config_from_hf
    alone = {key: value for key, value in settings.items() if key != first}
    assert read(settings | {second: said}) == read(alone | {second: said}) == read(settings | {second: None})
    with pytest.raises(CheckpointError, match=f"{second} must be what {first} is, {said}, got {2 * said}"):
        read(settings | {second: 2 * said})


@pytest.mark.parametrize("name", HERE)
def test_layers_of_different_sizes_are_refused_by_name(name):
    with pytest.raises(CheckpointError, match=r"per_layer_config must be absent or \{\}, got \{'0': "):
        FAMILIES[name].config_from_hf(settings_of(name, per_layer_config={"0": {"intermediate_size": 4}}))


@pytest.mark.parametrize("rope", [YARN, LLAMA3], ids=["yarn", "llama3"])
def test_the_trained_length_is_the_one_that_transformers_hears(rope):
    for said in ({}, {"original_max_position_embeddings": 5}):
        settings = settings_of("llama", rope_parameters=rope | {"original_max_position_embeddings": 8}, **said)
        ours = FAMILIES["llama"].config_from_hf(settings).positions.scaling.n_trained
        with torch.device("meta"):  # the model, not the configuration, looks outside
            heard = transformers.LlamaModel(transformers.LlamaConfig.from_dict(settings)).config.rope_parameters
        theirs = heard["original_max_position_embeddings"]
        assert ours == theirs == said.get("original_max_position_embeddings", 8)


REFUSED = [
    ("llama", {"rope_scaling": YARN}, "rope_scaling must be absent where there are rope_parameters, got "),
    ("llama", {"rope_parameters": {"rope_theta": 0}}, "rope_theta must be a number above 1, got 0"),
    ("llama", {"rope_parameters": {"rope_type": ["linear"]}}, r"rope_type must be one of .*, got \['linear'\]"),
    ("llama", {"rope_parameters": LLAMA3 | {"low_freq_factor": 4.0}}, "high_freq_factor must be greater than .* = 4.0"),
    ("t5", {"dense_act_fn": "gelu"}, "dense_act_fn must be absent or 'relu', got 'gelu'"),
    ("t5", {"scale_decoder_outputs": None}, "scale_decoder_outputs must be true, false or absent, got null"),
    ("t5", {"is_gated_act": True}, "is_gated_act must be absent or False, got True"),
    ("gpt_neox", {"head_dim": 4}, "head_dim must be absent or 8, got 4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), REFUSED)
def test_what_would_be_heard_otherwise_is_refused_by_key_and_value(name, change, message):
    with pytest.raises(CheckpointError, match=message):
        FAMILIES[name].config_from_hf(settings_of(name, **change))


def test_gpt_neox_hears_the_share_of_turned_features_under_its_own_name():
    settings = settings_of("gpt_neox", rope_parameters=None, partial_rotary_factor=1.0, rotary_pct=0.5)
    theirs = transformers.GPTNeoXConfig.from_dict(settings).rope_parameters["partial_rotary_factor"]
    assert theirs * 8 == FAMILIES["gpt_neox"].config_from_hf(settings).positions.d_rotary == 4


def test_the_activation_that_transformers_hears_goes_with_the_one_that_we_changed(tmp_path):
    tiny_model("T5ForConditionalGeneration", tiny_config("t5")).save_pretrained(tmp_path)
    loaded = load_folder(tmp_path)
    save_folder(tmp_path, replace(loaded, config=replace(loaded.config, activation="silu")))
    assert transformers.AutoConfig.from_pretrained(tmp_path).dense_act_fn == "silu"


def test_old_and_second_keys_do_not_outlive_a_change_of_the_configuration(tmp_path):
    """Otherwise `transformers` would hear them, and not the change."""
    tiny_model("LlamaForCausalLM", tiny_config("llama")).save_pretrained(tmp_path)
    loaded = load_folder(tmp_path)
    old = {key: value for key, value in loaded.settings.items() if key != "rope_parameters"}
    old |= {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 100.0}
    loaded = replace(loaded, settings=old, config=FAMILIES["llama"].config_from_hf(old))
    rotary = replace(loaded.config.positions, scaling=LinearScaling(3.0))
    save_folder(tmp_path, replace(loaded, config=replace(loaded.config, positions=rotary)))
    assert transformers.AutoConfig.from_pretrained(tmp_path).rope_parameters["factor"] == 3.0
    assert load_folder(tmp_path).config.positions == rotary
