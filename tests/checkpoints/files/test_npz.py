import io
import itertools
import pickle
import random
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch
from numpy.lib import format as npy

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.npz import read_npz

HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"


@pytest.fixture
def pack(tmp_path):
    """Write an archive of (name, content) members; return its path."""

    def write(*members, compression=zipfile.ZIP_STORED):
        path = tmp_path / "a.npz"
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, content in members:
                archive.writestr(name, content)
        return path

    return write


def member(header=HEADER, data=bytes(16), *, version=b"\1\0"):
    text = header.encode("latin1")
    return npy.MAGIC_PREFIX + version + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read_bit_for_bit(save, tmp_path):
    arrays = {
        "float": np.random.default_rng(0).normal(size=(2, 3)),
        "Fortran": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "big": np.arange(3, dtype=">i4"),
        "bool": np.array([True, False]),
        "scalar": np.array(3.5),
        "empty": np.zeros((0, 3), np.float16),
        "complex": np.array([1 + 2j]),
        "a/b": np.zeros(1),
    }
    save(tmp_path / "a.npz", **arrays)
    read = read_npz(tmp_path / "a.npz")
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert (read[name].dtype, read[name].tolist()) == (array.dtype, array.tolist())
        assert read[name].shape == array.shape


def objects():
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


def shaped(shape):
    return HEADER.replace("(2,)", shape)


BAD = {
    "objects": (("a.npy", objects()), "array 'a.npy' of booleans or numbers, got object"),
    "text": (("a.npy", member(HEADER.replace("<f8", "<U4"))), "of booleans or numbers, got <U4"),
    "records": (("a.npy", member(HEADER.replace("'<f8'", "[('x', '<f8')]"))), "or numbers, got ["),
    "no array": (("readme.txt", b"hello"), "members that end in .npy, got 'readme.txt'"),
    "not npy": (("a.npy", b"hello, world"), "an npz archive, got a damaged file: "),
    "empty member": (("a.npy", b""), "an npz archive, got a damaged file: "),
    "version 3": (("a.npy", member(version=b"\3\0")), "array 'a.npy' in npy version 1 or 2, got (3, 0)"),
    "header is code": (("a.npy", member("__import__('os').abort()")), "got a damaged file: "),
    "header is open": (("a.npy", member("{'descr': (")), "got a damaged file: "),
    "header nests": (("a.npy", member("(" * 5000)), "got a damaged file: "),
    "too long": (("a.npy", member(data=bytes(17))), "with 16 bytes for the shape (2,), got 17"),
    "too short": (("a.npy", member(data=bytes(15))), "with 16 bytes for the shape (2,), got 15"),
    "huge": (("a.npy", member(shaped(f"({2**40},)"))), "for the shape (1099511627776,)"),
    "overflow": (("a.npy", member(shaped(f"({2**32}, {2**32})"))), "with 147573952589676412928 bytes"),
    "negative": (("a.npy", member(shaped("(-2, -1)"))), "at most 16 sizes of at least 0, got (-2, -1)"),
    "rank 17": (("a.npy", member(shaped(str((1,) * 17)))), "with a shape of at most 16 sizes"),
    "boolean 2": (("a.npy", member(HEADER.replace("<f8", "|b1"), b"\0\2")), "0 or 1, got the byte 2"),
    "torch": (("archive/data.pkl", pickle.dumps(0)), "got a Python pickle. Loading a pickle can run"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_member_that_is_refused(fault, pack):
    bad, sentence = BAD[fault]
    path = pack(("good.npy", member()), bad)
    with pytest.raises(CheckpointError) as caught:
        read_npz(path)
    assert str(caught.value).startswith(f"{path}: expected ")
    assert sentence in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice(pack):
    with pytest.raises(CheckpointError, match="expected every name once, got 'a' twice"):
        read_npz(pack(("a.npy", member()), ("a.npy", member())))


def test_other_compressions_than_those_of_numpy(pack):
    with pytest.raises(CheckpointError, match=r"expected 'a\.npy' stored or deflated, got method 14"):
        read_npz(pack(("a.npy", member()), compression=zipfile.ZIP_LZMA))


def test_a_bomb_is_refused_before_it_is_unpacked(pack):
    header = shaped(f"({2**23},)")
    path = pack(("a.npy", member(header, bytes(2**26))), compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match="arrays within max_bytes = 1048576, got 67108"):
            read_npz(path, max_bytes=2**20)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_what_torch_saves_is_refused_under_any_name(tmp_path):
    for name in ("a.npz", "a.pt", "a"):
        torch.save({"w": torch.ones(1)}, tmp_path / name)
        with pytest.raises(CheckpointError, match="got a Python pickle"):
            read_npz(tmp_path / name)


def test_a_pickle_under_the_name_of_an_archive(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(pickle.dumps([0.0]))
    with pytest.raises(CheckpointError, match="got a Python pickle"):
        read_npz(path)


def test_an_npz_without_its_suffix_is_no_pickle(tmp_path):
    with (tmp_path / "weights").open("wb") as stream:
        np.savez(stream, a=np.ones(2))
    assert read_npz(tmp_path / "weights")["a"].tolist() == [1, 1]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_cut_at_any_byte_is_refused_and_damage_never_crashes(save, tmp_path):
    path = tmp_path / "a.npz"
    save(path, a=np.arange(6.0).reshape(2, 3), b=np.array([True, False]))
    honest = path.read_bytes()
    for n_bytes in range(len(honest)):
        path.write_bytes(honest[:n_bytes])
        with pytest.raises(CheckpointError):
            read_npz(path)
    rng = random.Random(0)
    for position, _ in itertools.product(range(len(honest)), range(3)):
        damaged = bytearray(honest)
        damaged[position] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            arrays = read_npz(path)
        except CheckpointError:
            continue
        assert all(array.dtype.kind in "biufc" for array in arrays.values())
