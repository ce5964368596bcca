"""Decoder-only models between a folder of Hugging Face and our parameters, for every family."""

from dataclasses import replace

import numpy as np
import pytest
import transformers

from compare.cases.decoder import draw_decoder
from compare.cases.llama import DYNAMIC, LINEAR, LLAMA, MISTRAL, YARN
from refimpl.checkpoints.families import family_named
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder

FAMILIES = {
    "llama": ("llama", LLAMA),
    "llama, untied": ("llama", replace(LLAMA, tied=False)),
    "llama, linear": ("llama", LINEAR),
    "llama, dynamic": ("llama", DYNAMIC),
    "llama, yarn": ("llama", YARN),
    "mistral": ("mistral", MISTRAL),
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
