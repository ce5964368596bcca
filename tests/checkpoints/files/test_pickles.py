import pickle
import shlex
import subprocess
import sys

import numpy as np
import pytest
import torch

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.pickles import SUFFIXES
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors

RISK = "Loading a pickle can run any program hidden in it, so it is never read here."


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".PT"])
def test_pickle_by_name_is_refused_whatever_it_holds(suffix, forge):
    with pytest.raises(CheckpointError) as caught:
        read_safetensors(forge({}, name="model" + suffix))
    assert RISK in str(caught.value)
    assert "weights_only=True" in str(caught.value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_by_content_is_refused(protocol, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps({"weight": [1.0, 2.0]}, protocol=protocol))
    with pytest.raises(CheckpointError, match="got a Python pickle"):
        read_safetensors(path)


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_saves_is_refused_by_content(zipped, tmp_path):
    path = tmp_path / "model.safetensors"
    torch.save({"weight": torch.ones(2)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(CheckpointError, match="got a Python pickle"):
        read_safetensors(path)


def test_a_pickle_is_refused_without_running_it(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (tmp_path.joinpath("ran").touch, ())

    for name in ("model.safetensors", "model.bin", "model.npz"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(CheckpointError):
            read_safetensors(path)
    assert not tmp_path.joinpath("ran").exists()


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_a_header_length_that_looks_like_a_pickle_is_none(version, forge):
    # 0x0280 to 0x0580 bytes of header: the file starts with the bytes of a pickle, and is honest.
    path = forge(b"{}".ljust(0x80 + 0x100 * version))
    assert path.read_bytes()[:2] == bytes([0x80, version])
    assert read_safetensors(path) == {}


def test_the_command_in_the_message_converts(tmp_path):
    folder = tmp_path / "it's a folder; $(touch ran)"
    folder.mkdir()
    weight = torch.arange(6.0).reshape(2, 3).T
    torch.save({"weight": weight, "tied": weight, "half": weight.bfloat16()}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError) as caught:
        read_safetensors(folder / "pytorch_model.bin")
    command = str(caught.value).partition("tensors only: ")[2]
    python, *arguments = shlex.split(command)
    assert python == "python"
    subprocess.run([sys.executable, *arguments], check=True, cwd=tmp_path)
    tensors = read_safetensors(folder / "model.safetensors")
    assert tensors["weight"].tolist() == tensors["tied"].tolist() == weight.tolist()
    assert tensors["half"].astype(np.float32).tolist() == weight.tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder.name]


def test_other_names_keep_their_stem(forge):
    with pytest.raises(CheckpointError, match=r"epoch3\.safetensors$"):
        read_safetensors(forge({}, name="epoch3.pt"))


def test_a_real_safetensors_file_is_no_pickle(tmp_path):
    path = tmp_path / "weights"
    write_safetensors(path, {"a": np.ones(2)})
    assert read_safetensors(path)["a"].tolist() == [1, 1]
