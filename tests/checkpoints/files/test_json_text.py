import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.json_text import parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.text() | st.integers(1 - 10**20, 10**20 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def depth(value):
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(VALUES)
def test_honest_json_is_read_up_to_its_depth_and_no_further(value):
    text = json.dumps(value).encode()
    assert parse_json(text, path="f", max_depth=depth(value)) == value
    if depth(value):
        with pytest.raises(CheckpointError, match="f: expected JSON nested at most"):
            parse_json(text, path="f", max_depth=depth(value) - 1)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(text):
    try:
        parse_json(text, path="f", max_depth=4)
    except CheckpointError as error:
        assert str(error).startswith("f: expected ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[" * 1_000_000, "expected JSON nested at most 32 deep, got 1000000 levels"),
        (b'{"a":' * 100_000, "expected JSON nested at most 32 deep, got 100000 levels"),
        (b'{"a": {"b": 1, "b": 1}}', "expected every JSON name once, got 'b' 2 times"),
        (b"[NaN]", "expected finite JSON numbers, got 'NaN'"),
        (b"[Infinity]", "expected finite JSON numbers, got 'Infinity'"),
        (b"[-1e400]", "expected finite JSON numbers, got '-1e400'"),
        (b"9" * 5000, "expected JSON integers of at most 20 digits, got 5000"),
        (b'"\xc3\x28"', "expected JSON in UTF-8, got byte 1 that is not"),
        (b"", "expected JSON, got a syntax error at character 0"),
        (b"{} {}", "expected JSON, got a syntax error at character 3"),
    ],
)
def test_json_that_is_refused(text, sentence):
    with pytest.raises(CheckpointError) as caught:
        parse_json(text, path="f.json", max_depth=32)
    assert str(caught.value).startswith(f"f.json: {sentence}")


def test_brackets_inside_texts_are_no_nesting():
    assert parse_json(rb'{"[[[[": "]\"[{\\"}', path="f", max_depth=1) == {"[[[[": ']"[{\\'}


@pytest.mark.parametrize("unit", [b'"', b'\\"', b"\\", b'"\\', b'"a"\\'])
def test_hostile_text_takes_time_in_proportion_to_its_length(unit):
    # A backtracking scanner would need the square: hours for these 4 MB.
    started = time.process_time()
    with pytest.raises(CheckpointError):
        parse_json(b'["' + unit * (2**22 // len(unit)), path="f", max_depth=3)
    assert time.process_time() - started < 20
