import os
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files import stored
from refimpl.checkpoints.files.header import DTYPES
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_every_dtype_is_read_bit_for_bit(name, shape, forge):
    dtype = DTYPES[name]
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    data = np.random.default_rng(0).integers(0, 2 if name == "BOOL" else 256, n_bytes, np.uint8).tobytes()
    entry = {"dtype": name, "shape": shape, "data_offsets": [0, n_bytes]}
    tensor = read_safetensors(forge({"t": entry}, data))["t"]
    assert type(tensor) is np.ndarray
    assert (tensor.dtype, tensor.shape, tensor.tobytes()) == (dtype, shape, data)


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_written_and_read_bit_for_bit(name, tmp_path):
    rng = np.random.default_rng(1)
    tensor = rng.integers(0, 2 if name == "BOOL" else 256, 24 * DTYPES[name].itemsize, np.uint8)
    tensor = tensor.view(DTYPES[name]).reshape(2, 3, 4)
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"t": tensor})
    read = read_safetensors(path)["t"]
    assert (read.dtype, read.shape, read.tobytes()) == (tensor.dtype, tensor.shape, tensor.tobytes())


def test_bfloat16_comes_back_as_bfloat16_of_ml_dtypes(forge):
    entry = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}
    tensor = read_safetensors(forge({"t": entry}, struct.pack("<HH", 0x3FC0, 0xC000)))["t"]
    assert tensor.dtype == ml_dtypes.bfloat16
    assert tensor.astype(np.float32).tolist() == [1.5, -2.0]


def test_tensors_are_writable_and_share_no_memory(tmp_path):
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"a": np.zeros(3), "b": np.ones(3)})
    before = path.read_bytes()
    tensors = read_safetensors(path)
    tensors["a"][:] = 7
    assert tensors["b"].tolist() == [1, 1, 1]
    assert path.read_bytes() == before


def test_the_order_is_that_of_the_header(forge):
    places = {"z": 1, "a": 2, "m": 0}
    header = {name: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for name, i in places.items()}
    tensors = read_safetensors(forge(header, b"mza"))
    assert {name: tensor.tobytes() for name, tensor in tensors.items()} == {"z": b"z", "a": b"a", "m": b"m"}
    assert list(tensors) == ["z", "a", "m"]


def test_a_file_without_tensors_is_read(forge):
    assert read_safetensors(forge({})) == {}


@pytest.mark.parametrize("kind", ["nothing", "folder", "pipe"])
def test_what_is_no_file_is_refused_at_once(kind, tmp_path):
    path = tmp_path / "model.safetensors"
    if kind == "folder":
        path.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    got = "nothing there" if kind == "nothing" else "something else"
    with pytest.raises(CheckpointError) as caught:
        read_safetensors(path)
    assert str(caught.value) == f"{path}: expected a file, got {got}"


def test_a_file_that_may_not_be_read(forge, monkeypatch):
    path = forge({})

    def forbidden(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", forbidden)
    with pytest.raises(CheckpointError, match="expected a readable file, got Permission denied"):
        read_safetensors(path)


def test_an_npz_archive_is_sent_to_its_own_reader(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(CheckpointError, match="got an npz archive, which read_npz reads"):
        read_safetensors(path)


@pytest.mark.parametrize("other", [np.zeros(2, np.float32), np.zeros((2, 1))])
def test_a_file_exchanged_between_check_and_reading_is_refused(other, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"t": np.zeros(2)})
    honest = stored.read_header

    def exchange(*args, **kwargs):
        entries = honest(*args, **kwargs)
        write_safetensors(path, {"t": other})
        return entries

    monkeypatch.setattr(stored, "read_header", exchange)
    with pytest.raises(CheckpointError, match="expected tensor 't' still as "):
        read_safetensors(path)


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="no file here whose first byte cannot be read")
def test_a_file_that_fails_while_it_is_read_is_refused(tmp_path):
    (tmp_path / "broken.safetensors").symlink_to("/proc/self/mem")
    with pytest.raises(CheckpointError, match="a readable file"):
        read_safetensors(tmp_path / "broken.safetensors")
