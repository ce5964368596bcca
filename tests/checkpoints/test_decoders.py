"""Decoder-only models between a folder of Hugging Face and our parameters, for every family."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from compare.cases.decoder import draw_decoder
from compare.cases.llama import DYNAMIC, LINEAR, LLAMA, MISTRAL, YARN
from refimpl.checkpoints.families import family_named
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder
from refimpl.models.decoder.lm import decoder_lm

FAMILIES = {
    "llama": ("llama", LLAMA),
    "llama, untied": ("llama", replace(LLAMA, tied=False)),
    "llama, linear": ("llama", LINEAR),
    "llama, dynamic": ("llama", DYNAMIC),
    "llama, yarn": ("llama", YARN),
    "mistral": ("mistral", MISTRAL),
}


def drawn(config):
    inputs = draw_decoder(np.random.default_rng(3), config=config, n_batch=3, n_seq=6, padded=True, headed=True)
    (token_ids, params), mask = inputs.args, inputs.masks["mask"]
    return token_ids, {key: x.astype(np.float32) for key, x in params.items()}, mask


def their_logits(model, token_ids, mask):
    with torch.no_grad():
        found = model(input_ids=torch.tensor(token_ids), attention_mask=torch.tensor(mask).long(), use_cache=False)
    return found.logits.numpy()


@pytest.mark.parametrize("name", FAMILIES)
def test_there_and_back(name, tmp_path):
    model_type, config = FAMILIES[name]
    token_ids, params, mask = drawn(config)
    save_folder(tmp_path / "ours", Checkpoint(model_type, params, config))
    model, told = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "ours", output_loading_info=True, attn_implementation="sdpa"
    )
    assert not any(told.values())
    (logits, *_), _ = decoder_lm(token_ids, params, config=config, mask=mask)
    np.testing.assert_allclose(logits[mask], their_logits(model, token_ids, mask)[mask], rtol=1e-4, atol=1e-4)

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
