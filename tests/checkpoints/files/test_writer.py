import os

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.torch import load_file

from refimpl.arrays.narrow import narrow
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files import writer
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors

SMALL = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
ANY_ARRAY = st.sampled_from(["?", "i1", "<i4", ">i8", "u2", "<f2", ">f4", "<f8", "<c8"]).flatmap(
    lambda dtype: hnp.arrays(dtype, SMALL)
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), ANY_ARRAY, max_size=5))
def test_what_is_written_is_read_back(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("written") / "model.safetensors"
    write_safetensors(path, tensors)
    read = read_safetensors(path)
    assert set(read) == set(tensors)
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype.newbyteorder("=")
        assert read[name].shape == tensor.shape
        assert read[name].tobytes() == tensor.astype(read[name].dtype).tobytes()


LAYOUTS = {
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: x[:, ::2],
    "Fortran": np.asfortranarray,
    "broadcast": lambda x: np.broadcast_to(x[0], (3, 4)),
    "big-endian": lambda x: x.astype(">f8"),
    "0-d": lambda x: x[1, 2, ...],
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_memory_layout_is_stored_by_value(layout, tmp_path):
    tensor = LAYOUTS[layout](np.arange(12.0).reshape(3, 4))
    before = tensor.copy()
    write_safetensors(tmp_path / "a", {"t": tensor})
    read = read_safetensors(tmp_path / "a")["t"]
    assert read.shape == tensor.shape
    assert read.tolist() == tensor.tolist() == before.tolist()


def test_narrow_arrays_are_stored_as_their_16_bits(tmp_path):
    tensor = narrow(np.array([1.0, -2.5]), "bfloat16")
    write_safetensors(tmp_path / "a", {"t": tensor})
    read = read_safetensors(tmp_path / "a")["t"]
    assert read.dtype == ml_dtypes.bfloat16
    assert read.tobytes() == tensor.tobytes()


def test_torch_reads_the_file_and_the_metadata(tmp_path):
    write_safetensors(tmp_path / "a", {"t": np.arange(3, dtype=ml_dtypes.bfloat16)}, {"format": "pt"})
    assert torch.equal(load_file(tmp_path / "a")["t"], torch.arange(3).bfloat16())
    with safe_open(tmp_path / "a", "pt") as opened:
        assert opened.metadata() == {"format": "pt"}


BAD = {
    "longdouble": ({"t": np.zeros(1, np.longdouble)}, None, "tensor 't' with a dtype of bool, uint8, "),
    "complex128": ({"t": np.zeros(1, complex)}, None, "complex64, got complex128"),
    "objects": ({"t": np.array([None])}, None, "complex64, got object"),
    "texts": ({"t": np.array(["a"])}, None, "complex64, got <U1"),
    "rank 17": ({"t": np.zeros((1,) * 17)}, None, "tensor 't' with at most 16 axes, got 17"),
    "number for a name": ({3: np.zeros(1)}, None, "names that are text and not __metadata__, got 3"),
    "reserved name": ({"__metadata__": np.zeros(1)}, None, "not __metadata__, got '__metadata__'"),
    "surrogate name": ({"\ud800": np.zeros(1)}, None, r"not __metadata__, got '\ud800'"),
    "number for a remark": ({}, {"n": 1}, "expected metadata of texts, got 'n': 1"),
}


@pytest.mark.parametrize("fault", BAD)
def test_what_cannot_be_stored_leaves_the_old_file(fault, tmp_path):
    tensors, metadata, sentence = BAD[fault]
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(CheckpointError) as caught:
        write_safetensors(path, tensors, metadata)
    assert str(caught.value).startswith(f"{path}: expected ")
    assert sentence in str(caught.value)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_another_kind_of_array_is_a_type_error(tmp_path):
    with pytest.raises(TypeError, match="tensor 't' must be a NumPy array, got Tensor"):
        write_safetensors(tmp_path / "a", {"t": torch.zeros(1)})
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"old")

    def full_disk(tensors, aside, metadata):
        aside.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "save_file", full_disk)
    with pytest.raises(CheckpointError, match="place that can be written, got No space left"):
        write_safetensors(path, {"t": np.zeros(1)})
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(CheckpointError, match="expected a place that can be written, got No such file"):
        write_safetensors(tmp_path / "none" / "a", {"t": np.zeros(1)})


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    write_safetensors(tmp_path / "a", {"t": np.zeros(1)})
    (tmp_path / "b").touch()
    assert os.stat(tmp_path / "a").st_mode == os.stat(tmp_path / "b").st_mode
