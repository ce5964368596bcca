"""Transformer-XL between folders of `transformers` 4.36 and our parameters; and its settings."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from compare.peers.other_environment import PYTHON, what_is_missing
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.transformer_xl.names import TRANSFORMER_XL_NAMES
from refimpl.checkpoints.families.transformer_xl.settings import (
    transformer_xl_config_from_hf,
    transformer_xl_config_to_hf,
)
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.folder import load_folder, save_folder
from refimpl.models.transformer_xl.heads import transformer_xl_lm
from refimpl.models.transformer_xl.model import transformer_xl
from tests.models.transformer_xl.small import CONFIG, VARIANTS, params

PROGRAM = Path(__file__).with_name("transformer_xl_folder.py")
TINY = {
    "vocab_size": 11, "cutoffs": [4, 7], "d_model": 6, "n_head": 2, "d_head": 3, "n_layer": 2, "d_inner": 5,
    "mem_len": 4, "clamp_len": 3,
}  # fmt: skip
MODELS = {
    "divided": TINY | {"d_embed": 8, "div_val": 2, "untie_r": False},
    "own_projections": TINY | {"d_embed": 4, "div_val": 1, "proj_share_all_but_first": False, "same_length": False},
    "shared_projection": TINY | {"d_embed": 4, "div_val": 1, "pre_lnorm": True},
    "one_table": TINY | {"d_embed": 6, "div_val": 1, "clamp_len": -1, "layer_norm_epsilon": 1e-3},
}
elsewhere = pytest.mark.skipif(bool(what_is_missing()), reason=f"transformers 4.36: {what_is_missing()}")


CLASSES = {
    **{name: (name, "TransfoXLLMHeadModel") for name in MODELS},
    "backbone": ("divided", "TransfoXLModel"),
}


def theirs_tells(folders):
    """Let theirs save or load models, all in one process: it takes seconds to start."""
    command = [PYTHON, "-I", "-W", "ignore", PROGRAM, *folders]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for folder in folders:
        with np.load(folder / "told.npz", allow_pickle=False) as file:
            yield dict(file)


@pytest.fixture(scope="module")
def round_trips(tmp_path_factory):
    """By name the folder of theirs, ours, and ours from our settings alone, and what each computes."""
    root, trips = tmp_path_factory.mktemp("transformer_xl"), {}
    for name, (settings, class_name) in CLASSES.items():
        folders = [root / name / kind for kind in ("theirs", "ours", "alone")]
        folders[0].mkdir(parents=True)
        (folders[0] / "wanted.json").write_text(json.dumps(MODELS[settings] | {"class_name": class_name}))
        trips[name] = folders
    saved = list(theirs_tells([folders[0] for folders in trips.values()]))
    for theirs, ours, alone in trips.values():
        checkpoint = load_folder(theirs)
        save_folder(ours, checkpoint)
        save_folder(alone, type(checkpoint)(checkpoint.model_type, checkpoint.params, checkpoint.config))
    loaded = list(theirs_tells([folder for folders in trips.values() for folder in folders[1:]]))
    told = zip(saved, loaded[::2], loaded[1::2], strict=True)
    return {name: (folders, each) for (name, folders), each in zip(trips.items(), told, strict=True)}


@elsewhere
@pytest.mark.parametrize("name", CLASSES)
def test_there_and_back(name, round_trips):
    (theirs, ours, alone), told = round_trips[name]
    old, new = (read_safetensors(folder / "model.safetensors") for folder in (theirs, ours))
    # What is no weight is computed by the model itself, and not written.
    (constant,) = old.keys() - new.keys()
    assert constant.endswith("pos_emb.inv_freq")
    for key, x in new.items():
        np.testing.assert_array_equal(x, old[key], err_msg=key)
    before, after = (json.loads((folder / "config.json").read_text()) for folder in (theirs, ours))
    # Releases of today call the dtype of a file otherwise.
    assert after == {"dtype": before.pop("torch_dtype"), **before}
    assert load_folder(alone).config == load_folder(theirs).config
    for each in told[1:]:
        np.testing.assert_array_equal(each["output"], told[0]["output"])
        report = json.loads(str(each["told"]))
        assert report.pop("missing_keys") == [constant]
        assert not any(report.values()), report


@elsewhere
@pytest.mark.parametrize("name", CLASSES)
def test_ours_computes_what_theirs_does(name, round_trips):
    """Theirs is in float32; the case in `compare` judges the rounding."""
    (theirs, *_), (told, *_) = round_trips[name]
    checkpoint = load_folder(theirs)
    wide = {key: x.astype(np.float64) for key, x in checkpoint.params.items()}
    arrays = told["ids"], told["memory"].astype(np.float64), wide
    if CLASSES[name][1] == "TransfoXLLMHeadModel":
        (got, _), _ = transformer_xl_lm(*arrays, config=checkpoint.config)
    else:
        *_, got, _ = transformer_xl(*arrays, config=checkpoint.config)[0]
    assert np.max(np.abs(got - told["output"])) <= 2.0**-16 * np.max(np.abs(told["output"]))


@pytest.mark.parametrize("name", VARIANTS)
def test_settings_and_names_there_and_back_without_theirs(name):
    config = VARIANTS[name]
    assert transformer_xl_config_from_hf(transformer_xl_config_to_hf(config)) == config
    tensors = TRANSFORMER_XL_NAMES.to_hf(params(config), config)
    assert "crit.out_layers.0.weight" not in tensors
    back = TRANSFORMER_XL_NAMES.from_hf(tensors, config)
    for key, x in params(config).items():
        np.testing.assert_array_equal(back[key], x, err_msg=key)


def test_second_names_must_be_the_same_array():
    tensors = TRANSFORMER_XL_NAMES.to_hf(params(), CONFIG)
    first = tensors["transformer.word_emb.emb_layers.1.weight"]
    TRANSFORMER_XL_NAMES.from_hf(tensors | {"crit.out_layers.1.weight": first.copy()}, CONFIG)
    with pytest.raises(CheckpointError, match=r"crit\.out_layers\.1\.weight must equal transformer\.word_emb"):
        TRANSFORMER_XL_NAMES.from_hf(tensors | {"crit.out_layers.1.weight": first + 1.0}, CONFIG)
    with pytest.raises(CheckpointError, match=r"inv_freq must hold the constants of frequencies"):
        TRANSFORMER_XL_NAMES.from_hf(tensors | {"transformer.pos_emb.inv_freq": np.ones(3)}, CONFIG)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attn_type": 1}, "attn_type must be absent or 0, got 1"),
        ({"sample_softmax": 3}, "sample_softmax must be .*, got 3"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings must be absent or True, got False"),
        ({"model_type": "xlnet"}, "model_type must be 'transfo-xl', got 'xlnet'"),
        ({"d_model": 7}, "d_model must be even, got 7"),
        ({"n_head": "3"}, "n_head must be an integer from 1 .*, got '3'"),
        ({"cutoffs": "4, 7"}, "cutoffs must be a list of integers, got '4, 7'"),
        ({"cutoffs": [7, 4]}, "cutoffs must be rising"),
        ({"tie_projs": [True, True, True]}, "tie_projs must be .*, got .*True, True, True"),
        ({"pre_lnorm": 1}, "pre_lnorm must be true or false, got 1"),
        ({"mem_len": 1.5}, r"mem_len must be an integer, got 1\.5"),
        ({"layer_norm_epsilon": 2.0}, r"layer_norm_epsilon must be a number between 0 and 1, got 2\.0"),
        ({"mem_len": 0, "same_length": True}, "n_memory must be positive"),
    ],
)
def test_settings_that_are_not_supported(change, message):
    with pytest.raises(CheckpointError, match=message):
        transformer_xl_config_from_hf(transformer_xl_config_to_hf(CONFIG) | change)


def test_the_defaults_of_transformers():
    absent = "mem_len clamp_len cutoffs pre_lnorm same_length untie_r layer_norm_epsilon tie_projs".split()
    settings = {key: x for key, x in transformer_xl_config_to_hf(CONFIG).items() if key not in absent}
    config = transformer_xl_config_from_hf(settings | {"vocab_size": 267735, "d_embed": 1024, "div_val": 4})
    assert (config.n_memory, config.clamp_len, config.cutoffs) == (1600, 1000, (20000, 40000, 200000))
    assert (config.pre_norm, config.same_length, config.own_biases) == (False, True, True)
