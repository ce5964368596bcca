import json
import shlex
import subprocess
import sys
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
import torch
import transformers

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.families.bert.names import bert_rows
from refimpl.checkpoints.files import atomic
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.stored import Stored
from refimpl.checkpoints.folder import Checkpoint, load_folder, save_folder
from refimpl.models.bert.config import BertConfig

SMALL = BertConfig(31, n_position=11, n_segment=3, d_model=12, n_head=4, n_layer=2, d_ff=20, n_label=5)
SHARDED = 4_000  # bytes: a few shards


def checkpoint(seed=0, dtype=np.float32, **settings):
    rng = np.random.default_rng(seed)
    rows = [row for row in bert_rows(SMALL) if row.group in {"encoder", "pooler", "mlm", "nsp"}]
    return Checkpoint("bert", {row.ours: rng.normal(size=row.our_shape).astype(dtype) for row in rows}, SMALL, settings)


def same_bits(left, right):
    return left.keys() == right.keys() and all(np.array_equal(left[key], right[key]) for key in left)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shards_there_and_back(tmp_path):
    saved = checkpoint()
    save_folder(tmp_path, saved, max_shard_bytes=SHARDED)
    assert len(list(tmp_path.glob("model-*-of-*.safetensors"))) > 3
    loaded = load_folder(tmp_path)
    assert (loaded.model_type, loaded.config) == ("bert", SMALL)
    assert same_bits(loaded.params, saved.params)


def test_transformers_loads_our_shards_and_we_load_theirs(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    saved = checkpoint()
    save_folder(ours, saved, max_shard_bytes=SHARDED)
    model, told = transformers.BertForPreTraining.from_pretrained(ours, output_loading_info=True)
    assert not any(told.values())
    model.save_pretrained(theirs, max_shard_size=SHARDED)
    assert (theirs / "model.safetensors.index.json").exists()
    assert same_bits(load_folder(theirs).params, saved.params)


def test_one_file_replaces_shards_and_shards_one_file(tmp_path):
    (tmp_path / "tokenizer.json").write_text("kept")
    for i, size in enumerate((SHARDED, 10**6, SHARDED, 2 * SHARDED)):
        saved = checkpoint(seed=i)
        save_folder(tmp_path, saved, max_shard_bytes=size)
        assert (tmp_path / "model.safetensors").exists() == (size == 10**6)
        assert same_bits(load_folder(tmp_path).params, saved.params)
        state = transformers.BertForPreTraining.from_pretrained(tmp_path).state_dict()
        assert np.array_equal(state["bert.pooler.dense.weight"].numpy(), saved.params["pooler.weight"])
    assert (tmp_path / "tokenizer.json").read_text() == "kept"
    n_shard = len(list(tmp_path.glob("model-*")))
    assert len(list(tmp_path.iterdir())) == n_shard + 3  # config.json, the index, the tokenizer


@pytest.mark.parametrize("n_move", [0, 1, 2, 3, 5, 7])
def test_a_failure_between_two_moves_brings_the_old_checkpoint_back(n_move, tmp_path, monkeypatch):
    save_folder(tmp_path, checkpoint(0), max_shard_bytes=SHARDED)
    before, moves, move = contents(tmp_path), [], atomic.os.replace

    def failing(source, target):
        moves.append(source)
        if len(moves) == n_move + 1:
            raise OSError(5, "Input/output error")
        move(source, target)

    monkeypatch.setattr(atomic.os, "replace", failing)
    with pytest.raises(CheckpointError, match="Input/output error"):
        save_folder(tmp_path, checkpoint(1))
    assert len(moves) > n_move
    assert contents(tmp_path) == before


def test_a_power_cut_between_two_moves_leaves_no_mixture(tmp_path, monkeypatch):
    """Look at the folder as it is before each move: it is the old checkpoint, or the new one, or refused."""
    save_folder(tmp_path, checkpoint(0), max_shard_bytes=SHARDED)
    old, new, seen, move = checkpoint(0), checkpoint(1), [], atomic.os.replace

    def looking(source, target):
        try:
            found = load_folder(tmp_path).params
            seen.append("old" if same_bits(found, old.params) else "new" if same_bits(found, new.params) else "mixed")
        except CheckpointError:
            seen.append("refused")
        move(source, target)

    monkeypatch.setattr(atomic.os, "replace", looking)
    save_folder(tmp_path, new, max_shard_bytes=SHARDED)
    assert seen == ["old"] + ["refused"] * (len(seen) - 1)
    assert same_bits(load_folder(tmp_path).params, new.params)


def test_what_config_says_beside_the_mathematics_is_kept(tmp_path):
    labels = {str(i): f"class {i}" for i in range(5)}
    model = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=31, hidden_size=12, num_attention_heads=4, num_hidden_layers=2, intermediate_size=20,
            max_position_embeddings=11, type_vocab_size=3, hidden_act="gelu_new", id2label=labels,
            hidden_dropout_prob=0.25,
        )
    )  # fmt: skip
    model.save_pretrained(tmp_path / "theirs")
    loaded = load_folder(tmp_path / "theirs")
    save_folder(tmp_path / "ours", loaded)
    theirs, ours = (json.loads((tmp_path / side / "config.json").read_text()) for side in ("theirs", "ours"))
    assert ours == theirs

    save_folder(tmp_path / "other", replace(loaded, config=replace(loaded.config, activation="relu", n_label=5)))
    other = load_folder(tmp_path / "other")
    assert other.config.activation == "relu"
    assert other.settings["hidden_dropout_prob"] == 0.25


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_transformers_loads_the_dtype_that_we_saved(dtype, tmp_path):
    saved = checkpoint(dtype=getattr(ml_dtypes if dtype == "bfloat16" else np, dtype))
    save_folder(tmp_path, saved, max_shard_bytes=SHARDED)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == dtype
    model = transformers.BertForPreTraining.from_pretrained(tmp_path)
    assert model.dtype == getattr(torch, dtype)
    assert same_bits(load_folder(tmp_path).params, saved.params)


def test_faults_are_found_before_any_tensor_is_read(tmp_path, monkeypatch):
    save_folder(tmp_path, checkpoint())
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, "intermediate_size": 24}))
    monkeypatch.setattr(Stored, "__array__", lambda *args, **keywords: pytest.fail("read a tensor"))
    with pytest.raises(CheckpointError, match=r"dense\.weight must have shape \(24, 12\), got \(20, 12\)"):
        load_folder(tmp_path)


def test_a_folder_of_pickled_shards_is_refused_with_a_command_that_converts_it(tmp_path):
    saved = checkpoint()
    save_folder(tmp_path, saved)
    tensors = read_safetensors(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    where = {name: f"pytorch_model-0000{1 + i % 2}-of-00002.bin" for i, name in enumerate(tensors)}
    for file in set(where.values()):
        shard = {name: torch.from_numpy(x) for name, x in tensors.items() if where[name] == file}
        torch.save(shard, tmp_path / file)
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": where}))
    with pytest.raises(CheckpointError, match="can run any program") as caught:
        load_folder(tmp_path)
    _, *arguments = shlex.split(str(caught.value).partition("tensors only: ")[2])
    subprocess.run([sys.executable, *arguments], check=True)
    assert same_bits(load_folder(tmp_path).params, saved.params)


def test_files_beside_the_weights_come_with_them_or_not_at_all(tmp_path):
    folder = tmp_path / "model"

    def fails(path):
        path.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        save_folder(folder, checkpoint(), beside={"note": fails})
    assert not folder.exists()
    save_folder(folder, checkpoint(), beside={"note": lambda path: path.write_text("old")})
    before = contents(folder)
    assert before["note"] == b"old"
    with pytest.raises(RuntimeError):
        save_folder(folder, checkpoint(1), beside={"note": fails})
    assert contents(folder) == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_that_are_no_numbers_are_named(dtype, tmp_path):
    spoilt = checkpoint(dtype=getattr(ml_dtypes if dtype == "bfloat16" else np, dtype))
    spoilt.params["pooler.bias"][:2] = np.nan
    save_folder(tmp_path, spoilt)
    with pytest.raises(CheckpointError, match=r"bert\.pooler\.dense\.bias must hold numbers, got 2 times NaN"):
        load_folder(tmp_path)
    spoilt.params["pooler.bias"][:2] = -np.inf  # a number that bars
    save_folder(tmp_path, spoilt)
    assert same_bits(load_folder(tmp_path).params, spoilt.params)
