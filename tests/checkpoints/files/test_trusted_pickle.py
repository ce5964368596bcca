import hashlib
import pickle

import numpy as np
import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.trusted_pickle import read_trusted_pickle


@pytest.fixture
def written(tmp_path):
    def write(content, protocol=2):
        path = tmp_path / "weights.pkl"
        path.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, protocol=protocol))
        return path

    return write


def read(path, **settings):
    return read_trusted_pickle(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest(), **settings)


class Caller:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_numbers_texts_and_arrays_come_back(protocol, written):
    content = {
        "f4": np.arange(6.0, dtype="f4").reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big": np.arange(3, dtype=">i2"),
        "bool": np.array([True, False]),
        "empty": np.zeros((0, 2)),
        "plain": [1, 2.5, None, True, "text", (1, 2)],
    }
    found = read(written(content, protocol))
    assert found.keys() == content.keys()
    assert found["plain"] == content["plain"]
    for name in content.keys() - {"plain"}:
        np.testing.assert_array_equal(found[name], content[name])
        assert found[name].dtype.str[1:] == content[name].dtype.str[1:]


def test_another_file_is_refused_before_it_is_unpickled(written, tmp_path):
    path = written(Caller(tmp_path.joinpath("ran").touch))
    with pytest.raises(CheckpointError, match="expected the trusted file, of SHA-256 0000, got one of SHA-256"):
        read_trusted_pickle(path, sha256="0000")
    assert not tmp_path.joinpath("ran").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_program_does_not_run_even_where_it_is_trusted(protocol, written, tmp_path):
    path = written({"weight": Caller(open, str(tmp_path / "ran"), "w")}, protocol)
    with pytest.raises(CheckpointError, match=r"got one that calls '(_io|io)\.open'"):
        read(path)
    assert not tmp_path.joinpath("ran").exists()


@pytest.mark.parametrize("called", [getattr, eval, np.load, np.frombuffer, np.memmap])
def test_no_function_but_those_that_rebuild_arrays_is_called(called, written):
    with pytest.raises(CheckpointError, match="got one that calls"):
        read(written({"weight": Caller(called, "x", "y")}))


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ({"weight": np.array([{}, None], dtype=object)}, "expected arrays of booleans or numbers, got dtype object"),
        ({"weight": np.array(["text"])}, "expected arrays of booleans or numbers, got dtype <U4"),
        ({"weight": np.zeros(2, [("a", "f4")])}, "expected arrays of booleans or numbers, got dtype"),
        ({"weight": np.dtype("f4")}, "expected numbers, texts, lists, dicts and arrays, got Float32DType"),
    ],
)
def test_what_is_no_number_is_refused(content, got, written):
    with pytest.raises(CheckpointError) as caught:
        read(written(content))
    assert got in str(caught.value)


def test_lists_that_hold_each_other_are_looked_into_once(written):
    itself = [1.0]
    itself.append(itself)
    found = read(written(itself))
    assert found[1] is found
    shared = ["text"]
    for _ in range(60):  # 2**60 paths lead to the text
        shared = [shared, shared]
    assert read(written(shared))[0] is not None
    itself.append(np.dtype("f4"))
    with pytest.raises(CheckpointError, match="got Float32DType"):
        read(written(itself))


def test_a_truncated_or_damaged_file_is_refused(written):
    whole = pickle.dumps({"weight": np.arange(100.0)}, protocol=2)
    for cut in range(0, len(whole), 7):
        with pytest.raises(CheckpointError, match=r"weights\.pkl: expected"):
            read(written(whole[:cut]))
    generator = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[generator.integers(len(whole) - 800)] = generator.integers(256)
        try:  # some bytes are numbers, and any number is one
            read(written(bytes(damaged)))
        except CheckpointError as error:
            assert "expected" in str(error)


def test_a_file_that_is_too_large_or_absent_is_refused(written, tmp_path):
    path = written({"weight": np.zeros(100)})
    with pytest.raises(CheckpointError, match="expected at most max_bytes = 100 bytes, got more"):
        read(path, max_bytes=100)
    with pytest.raises(CheckpointError, match="expected a file that can be read"):
        read_trusted_pickle(tmp_path / "absent.pkl", sha256="0")


def test_a_reference_to_something_outside_is_refused(written):
    with pytest.raises(CheckpointError, match="got one that refers to"):
        read(written(b"\x80\x02X\x04\x00\x00\x00itemQ."))


def test_bytes_are_no_other_encoding(written):
    with pytest.raises(CheckpointError, match="expected bytes as latin1, got 'rot13'"):
        read(written(b"c_codecs\nencode\n(Vtext\nVrot13\ntR."))
