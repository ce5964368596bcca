"""Every way in which a header can lie, forged by hand, and the sentence that refuses it."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.header import DTYPES, MOST_AXES, MOST_HEADER_BYTES, MOST_TENSORS
from refimpl.checkpoints.files.reader import read_safetensors
from refimpl.checkpoints.files.writer import write_safetensors

ONE = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
TEXT = json.dumps({"a": ONE}).encode()


def changed(**fields):
    return {"a": {**ONE, **fields}}


def without(field):
    return {"a": {key: value for key, value in ONE.items() if key != field}}


EXACT_FIELDS = "tensor 'a' with exactly the fields dtype, shape, data_offsets, got "
SIZES = "tensor 'a' with a shape of at most 16 sizes of at least 0, got "
OFFSETS = "tensor 'a' with two data_offsets of at least 0, got "

# what is wrong: (header, data, the message after the file's name)
FORGED = {
    "name twice": (
        b'{"a": %b, "a": %b}' % (json.dumps(ONE).encode(), json.dumps(ONE).encode()),
        b"x",
        "expected every JSON name once, got 'a' 2 times",
    ),
    "name twice, once escaped": (
        b'{"a": %b, "\\u0061": %b}' % (json.dumps(ONE).encode(), json.dumps(ONE).encode()),
        b"x",
        "expected every JSON name once, got 'a' 2 times",
    ),
    "field twice": (
        b'{"a": {"dtype": "U8", "dtype": "I8", "shape": [1], "data_offsets": [0, 1]}}',
        b"x",
        "expected every JSON name once, got 'dtype' 2 times",
    ),
    "unknown field": (
        changed(strides=[1]),
        b"x",
        EXACT_FIELDS + "['data_offsets', 'dtype', 'shape', 'strides']",
    ),
    "no dtype": (without("dtype"), b"x", EXACT_FIELDS + "['data_offsets', 'shape']"),
    "no shape": (without("shape"), b"x", EXACT_FIELDS + "['data_offsets', 'dtype']"),
    "no offsets": (without("data_offsets"), b"x", EXACT_FIELDS + "['dtype', 'shape']"),
    "tensor is a number": ({"a": 3}, b"x", EXACT_FIELDS + "3"),
    "leading space": (b" " + TEXT, b"x", "expected a header from { to }, then only spaces, got b' ' to b'}'"),
    "leading newline": (b"\n" + TEXT, b"x", "then only spaces, got b'\\n' to b'}'"),
    "byte order mark": (b"\xef\xbb\xbf" + TEXT, b"x", "then only spaces, got b'\\xef' to b'}'"),
    "trailing newline": (TEXT + b"\n", b"x", "then only spaces, got b'{' to b'\\n'"),
    "trailing zero": (TEXT + b"\0", b"x", "then only spaces, got b'{' to b'\\x00'"),
    "empty header": (b"", b"x", "then only spaces, got b'' to b''"),
    "list header": ([ONE], b"x", "then only spaces, got b'[' to b']'"),
    "not UTF-8": (b'{"\xff": 1}', b"", "expected JSON in UTF-8, got byte 2 that is not"),
    "not JSON": (b"{a}", b"", "expected JSON, got a syntax error at character 1: "),
    "two objects": (TEXT + b"{}", b"x", "expected JSON, got a syntax error at character "),
    "NaN": (b'{"a": NaN}', b"", "expected finite JSON numbers, got 'NaN'"),
    "Infinity": (b'{"a": -Infinity}', b"", "expected finite JSON numbers, got '-Infinity'"),
    "overflowing number": (b'{"a": 1e999}', b"", "expected finite JSON numbers, got '1e999'"),
    "too deep": (changed(shape=[[1]]), b"x", "expected JSON nested at most 3 deep, got 4 levels"),
    "unknown dtype": (changed(dtype="F128"), b"x", "tensor 'a' with a dtype of BOOL, U8, "),
    "eight-bit float": (changed(dtype="F8_E4M3"), b"x", "C64, got 'F8_E4M3'"),
    "dtype is a list": (changed(dtype=["U8"]), b"x", "C64, got ['U8']"),
    "shape is a number": (changed(shape=1), b"x", SIZES + "1"),
    "negative size": (changed(shape=[-1]), b"x", SIZES + "[-1]"),
    "size is a float": (changed(shape=[1.0]), b"x", SIZES + "[1.0]"),
    "size is true": (changed(shape=[True]), b"x", SIZES + "[True]"),
    "size is text": (changed(shape=["1"]), b"x", SIZES + "['1']"),
    "rank 17": (changed(shape=[1] * 17), b"x", SIZES + "17 sizes"),
    "one offset": (changed(data_offsets=[0]), b"x", OFFSETS + "[0]"),
    "three offsets": (changed(data_offsets=[0, 1, 2]), b"x", OFFSETS + "[0, 1, 2]"),
    "negative offset": (changed(data_offsets=[-1, 0]), b"x", OFFSETS + "[-1, 0]"),
    "offset is a float": (changed(data_offsets=[0, 1.0]), b"x", OFFSETS + "[0, 1.0]"),
    "offsets backwards": (changed(data_offsets=[1, 0]), b"x", "with data_offsets 1 bytes apart, got [1, 0]"),
    "offsets too wide": (changed(data_offsets=[0, 2]), b"xy", "with data_offsets 1 bytes apart, got [0, 2]"),
    "product overflows": (
        changed(shape=[2**32, 2**32]),
        b"x",
        "tensor 'a' with a size below 2**63 bytes, got the shape [4294967296, 4294967296] of U8",
    ),
    "product wraps to 1 byte": (changed(shape=[2**32, 2**32 + 1]), b"x", "with a size below 2**63 bytes"),
    "product overflows behind a zero": (
        changed(shape=[0, 2**62, 4], data_offsets=[0, 0]),
        b"",
        "tensor 'a' with a size below 2**63 bytes, got the shape [0, 4611686018427387904, 4] of U8",
    ),
    "size of 30 digits": (
        b'{"a": {"dtype": "U8", "shape": [%b], "data_offsets": [0, 1]}}' % (b"9" * 30),
        b"x",
        "expected JSON integers of at most 20 digits, got 30",
    ),
    "beyond the budget": (
        changed(shape=[2**40], data_offsets=[0, 2**40]),
        b"x",
        "tensor 'a' within max_bytes = 8589934592, got 1099511627776 bytes",
    ),
    "together beyond the budget": (
        {
            "a": {"dtype": "U8", "shape": [2**33], "data_offsets": [0, 2**33]},
            "b": {"dtype": "U8", "shape": [1], "data_offsets": [2**33, 2**33 + 1]},
        },
        b"x",
        "expected tensors within max_bytes = 8589934592, got 8589934593 bytes",
    ),
    "overlap": (
        {"a": {**ONE, "shape": [2], "data_offsets": [0, 2]}, "b": {**ONE, "data_offsets": [1, 2]}},
        b"xy",
        "expected tensor 'b' to begin at byte 2, got 1: an overlap",
    ),
    "same bytes twice": (
        {"a": ONE, "b": ONE},
        b"x",
        "expected tensor 'b' to begin at byte 1, got 0: an overlap",
    ),
    "hole": (
        {"a": ONE, "b": {**ONE, "data_offsets": [2, 3]}},
        b"xyz",
        "expected tensor 'b' to begin at byte 1, got 2: a hole",
    ),
    "hole at the start": (changed(data_offsets=[1, 2]), b"xy", "to begin at byte 0, got 1: a hole"),
    "empty tensor far out": (changed(shape=[0], data_offsets=[9, 9]), b"", "at byte 0, got 9: a hole"),
    "trailing bytes": ({"a": ONE}, b"xyz", "expected 1 bytes of data, got 2 trailing bytes"),
    "bytes without a tensor": ({}, b"xyz", "expected 0 bytes of data, got 3 trailing bytes"),
    "data cut off": (
        changed(shape=[4], data_offsets=[0, 4]),
        b"xyz",
        "expected 4 bytes of data, got a file cut off after 3",
    ),
    "metadata of numbers": ({"__metadata__": {"n": 1}}, b"", "__metadata__ of names and texts, got {'n': 1}"),
    "metadata is a tensor": ({"__metadata__": ONE}, b"x", "expected __metadata__ of names and texts, got "),
    "metadata is null": ({"__metadata__": None}, b"", "__metadata__ of names and texts, got None"),
    "lone surrogate": (b'{"\\ud800": %b}' % json.dumps(ONE).encode(), b"x", "a file that safetensors reads"),
    "boolean 2": (changed(dtype="BOOL"), b"\2", "tensor 'a' with booleans 0 or 1, got the byte 2"),
    "boolean 255": (changed(dtype="BOOL"), b"\xff", "tensor 'a' with booleans 0 or 1, got the byte 255"),
}


@pytest.mark.parametrize("fault", FORGED)
def test_forged_file_is_refused_with_its_sentence(fault, forge):
    header, data, sentence = FORGED[fault]
    path = forge(header, data)
    with pytest.raises(CheckpointError) as caught:
        read_safetensors(path)
    assert str(caught.value).startswith(f"{path}: expected ")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "expected 8 bytes of header length, got a file of 0 bytes"),
        (b"\2\0\0\0\0\0\0", "expected 8 bytes of header length, got a file of 7 bytes"),
        (b"\2\0\0\0\0\0\0\0", "expected a header of 2 bytes, got a file cut off after 8 bytes"),
        (b"\1\0\0\1\0\0\0\0{}", "expected a header of at most 16777216 bytes, got 16777217 bytes"),
        (b"\xff" * 8 + b"{}", "expected a header of at most 16777216 bytes, got 18446744073709551615 bytes"),
    ],
)
def test_header_length_that_lies(content, sentence, tmp_path):
    path = tmp_path / "forged.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        read_safetensors(path)
    assert str(caught.value) == f"{path}: {sentence}"


def test_header_of_just_16_mb_is_read(forge):
    path = forge(TEXT.ljust(MOST_HEADER_BYTES), b"x")
    assert read_safetensors(path)["a"].tobytes() == b"x"


def test_one_tensor_too_many(forge):
    empty = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    path = forge({str(number): empty for number in range(MOST_TENSORS + 1)})
    with pytest.raises(CheckpointError, match="expected at most 100000 tensors, got 100001"):
        read_safetensors(path)


def test_rank_16_is_read(forge):
    assert read_safetensors(forge(changed(shape=[1] * MOST_AXES), b"x"))["a"].shape == (1,) * MOST_AXES


def test_budget_is_a_limit_not_an_estimate(forge):
    path = forge(changed(shape=[4], data_offsets=[0, 4]), b"wxyz")
    assert read_safetensors(path, max_bytes=4)["a"].tobytes() == b"wxyz"
    with pytest.raises(CheckpointError, match="tensor 'a' within max_bytes = 3, got 4 bytes"):
        read_safetensors(path, max_bytes=3)


def test_nothing_is_allocated_for_a_size_that_is_refused(forge):
    path = forge(changed(shape=[2**30], data_offsets=[0, 2**30]), b"x")
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match="got a file cut off after 1"):
            read_safetensors(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_name_is_shown_short_and_without_control_characters(forge):
    name = "\x1b[2J" + "n" * 5000
    with pytest.raises(CheckpointError) as caught:
        read_safetensors(forge({name: 3}))
    assert "\x1b" not in str(caught.value).removeprefix(str(forge({}).parent))
    assert len(str(caught.value)) < 500


def test_a_name_is_a_key_and_never_a_path(forge, tmp_path):
    names = ["../escaped", "/etc/passwd", "C:\\a", "a/../../b", "", ".", "\0"]
    header = {name: {**ONE, "data_offsets": [i, i + 1]} for i, name in enumerate(names)}
    path = forge(header, bytes(len(names)))
    assert list(read_safetensors(path)) == names
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("honest") / "model.safetensors"
    tensors = {
        "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "mask": np.array([True, False]),
        "empty": np.zeros((0, 4), np.float16),
    }
    write_safetensors(path, tensors, {"format": "pt"})
    return path.read_bytes()


def test_a_file_cut_at_any_byte_is_refused(honest, tmp_path):
    path = tmp_path / "cut.safetensors"
    path.write_bytes(honest)
    read_safetensors(path)
    for n_bytes in range(len(honest)):
        path.write_bytes(honest[:n_bytes])
        with pytest.raises(CheckpointError):
            read_safetensors(path)


def test_any_flipped_bit_is_refused_or_read_as_what_it_says(honest, tmp_path):
    path = tmp_path / "flipped.safetensors"
    for position in range(8 + int.from_bytes(honest[:8], "little")):
        for bit in range(8):
            flipped = bytearray(honest)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            check_refused_or_true_to_its_header(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_bytes_over_a_file_are_refused_or_read_as_what_they_say(honest, tmp_path, data):
    path = tmp_path / "overwritten.safetensors"
    position = data.draw(st.integers(0, len(honest)))
    patch = data.draw(st.binary(max_size=12))
    path.write_bytes(honest[:position] + patch + honest[position + data.draw(st.integers(0, 12)) :])
    check_refused_or_true_to_its_header(path)


def check_refused_or_true_to_its_header(path):
    try:
        tensors = read_safetensors(path)
    except CheckpointError:
        return
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    assert set(tensors) == set(header)
    for name, fields in header.items():
        begin, end = fields["data_offsets"]
        assert tensors[name].dtype == DTYPES[fields["dtype"]]
        assert list(tensors[name].shape) == fields["shape"]
        assert tensors[name].tobytes() == content[start + begin : start + end]
