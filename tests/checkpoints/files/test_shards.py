import json
import os

import numpy as np
import pytest
from huggingface_hub import split_state_dict_into_shards_factory

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.shards import INDEX, open_shards, split_shards, stale_files
from refimpl.checkpoints.files.writer import write_safetensors

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
TENSORS = {name: np.full(size, float(size)) for name, size in {"a": 3, "b": 4, "c": 20, "d": 1, "e": 2}.items()}


def write(folder, files, where=None, **index):
    for file, shard in files.items():
        write_safetensors(folder / file, shard)
    where = {name: file for file, shard in files.items() for name in shard} if where is None else where
    (folder / INDEX).write_text(json.dumps({"weight_map": where, **index}))


@pytest.fixture
def sharded(tmp_path):
    write(tmp_path, {ONE: {"a": TENSORS["a"], "b": TENSORS["b"]}, TWO: {"c": TENSORS["c"]}})
    return tmp_path


def open_here(folder, max_bytes=10**6):
    return open_shards(folder, max_bytes=max_bytes)


def refused(folder, **limits):
    with pytest.raises(CheckpointError) as caught:
        open_here(folder, **limits)
    return str(caught.value)


def test_every_tensor_of_every_shard_is_read(sharded):
    assert {name: np.asarray(stored).tolist() for name, stored in open_here(sharded).items()} == {
        name: TENSORS[name].tolist() for name in "abc"
    }


def test_no_tensor_is_read_before_it_is_wanted(sharded):
    opened = open_here(sharded)
    (sharded / TWO).unlink()
    assert opened["c"].shape == (20,)
    assert np.asarray(opened["a"]).tolist() == TENSORS["a"].tolist()
    with pytest.raises(CheckpointError, match="00002-of-00002"):
        np.asarray(opened["c"])


@pytest.mark.parametrize(
    "file",
    [
        "../model.safetensors", "/etc/model.safetensors", "sub/model.safetensors", "sub\\model.safetensors",
        "C:model.safetensors", "..safetensors", ".hidden.safetensors", "model.bin", "model.safetensors\n",
        "model\x00.safetensors", "", 7, None, ["a"],
    ],
)  # fmt: skip
def test_an_index_that_names_another_place_is_refused(file, tmp_path):
    write(tmp_path, {}, {"a": file})
    message = refused(tmp_path)
    assert "tensor 'a' in a .safetensors file of this folder, by its plain name, got " in message
    assert len(message.splitlines()) == 1


def test_a_shard_that_is_not_there_is_named(sharded):
    (sharded / TWO).unlink()
    assert f"expected the shard {TWO}, with 1 of the tensors, in the folder, got nothing there" in refused(sharded)


def test_a_shard_that_is_a_link_is_read(sharded):
    # The cache of Hugging Face keeps files elsewhere and links them.
    blob = sharded / "blob"
    (sharded / TWO).rename(blob)
    os.symlink(blob, sharded / TWO)
    assert np.asarray(open_here(sharded)["c"]).size == 20


def test_a_tensor_in_two_shards_is_refused(tmp_path):
    write(tmp_path, {ONE: {"a": TENSORS["a"]}, TWO: {"a": TENSORS["a"], "b": TENSORS["b"]}}, {"a": ONE, "b": TWO})
    assert f"{TWO}: expected tensor 'a' in one shard, got it in {ONE} too" in refused(tmp_path)


def test_a_tensor_elsewhere_than_the_index_says_is_refused(sharded):
    write(sharded, {}, {"a": TWO, "b": ONE, "c": TWO})
    assert f"expected tensor 'a' in {ONE}, where it lies, got it in {TWO}" in refused(sharded)


def test_a_tensor_that_the_index_lacks_is_refused(sharded):
    write(sharded, {}, {"a": ONE, "c": TWO})
    assert f"expected tensor 'b' in {ONE}, where it lies, got no such tensor" in refused(sharded)


def test_a_tensor_that_its_shard_lacks_is_refused(sharded):
    write(sharded, {}, {"a": ONE, "b": ONE, "c": TWO, "x": TWO})
    assert f"{TWO}: expected tensor 'x', as {INDEX} says, got a file without it" in refused(sharded)


@pytest.mark.parametrize("where", [[], {}, "a", None, {f"{i}": ONE for i in range(100_001)}])
def test_what_is_no_map_is_refused(where, tmp_path):
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": where}))
    assert "expected a weight_map of 1 to 100000 tensors" in refused(tmp_path)


def test_a_name_twice_in_the_index_is_refused(tmp_path):
    (tmp_path / INDEX).write_text(f'{{"weight_map": {{"a": "{ONE}", "a": "{TWO}"}}}}')
    assert "every JSON name once" in refused(tmp_path)


def test_too_many_shards_are_refused(tmp_path):
    write(tmp_path, {}, {f"{i}": f"model-{i}.safetensors" for i in range(10_001)})
    assert "expected at most 10000 shards, got 10001" in refused(tmp_path)


def test_an_index_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / INDEX).write_bytes(b" " * (32 * 2**20 + 1))
    assert "expected at most 33554432 bytes, got more" in refused(tmp_path)


def test_the_budget_holds_for_all_shards_together(sharded):
    n_byte = sum(TENSORS[name].nbytes for name in "abc")
    assert open_here(sharded, max_bytes=n_byte)
    assert "within max_bytes = " in refused(sharded, max_bytes=n_byte - 1)


@pytest.mark.parametrize("most", [1, 32, 40, 56, 57, 100, 160, 200, 10**6])
def test_tensors_are_shared_out_as_hugging_face_does(most):
    files, index = split_shards(TENSORS, most)
    theirs = split_state_dict_into_shards_factory(
        TENSORS, get_storage_size=lambda x: x.nbytes, get_storage_id=id, max_shard_size=most,
        filename_pattern="model{suffix}.safetensors",
    )  # fmt: skip
    expected = {file: set(names) for file, names in theirs.filename_to_tensors.items()}
    assert {frozenset(shard) for shard in files.values()} == {frozenset(names) for names in expected.values()}
    assert (index is not None) == theirs.is_sharded
    if index:
        assert files.keys() == expected.keys()
        assert index["metadata"]["total_size"] == theirs.metadata["total_size"]
        assert all(name in files[file] for name, file in index["weight_map"].items())


def test_only_weights_of_an_earlier_checkpoint_are_stale(tmp_path):
    for name in (ONE, TWO, INDEX, "model.safetensors", "tokenizer.json", "adapter-00001-of-00002.safetensors"):
        (tmp_path / name).touch()
    assert set(stale_files(tmp_path, [ONE])) == {TWO, INDEX, "model.safetensors"}
