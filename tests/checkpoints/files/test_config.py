import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.files.config import MOST_BYTES, read_config, write_config


def test_a_config_is_written_and_read(tmp_path):
    config = {"model_type": "bert", "layer_norm_eps": 1e-12, "labels": {"0": "ÿ"}, "none": None}
    write_config(tmp_path / "config.json", config)
    assert read_config(tmp_path / "config.json") == config


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"[1]", "expected a JSON object, got a list"),
        (b"{", "expected JSON, got a syntax error"),
        (b'{"a": 1, "a": 2}', "expected every JSON name once, got 'a' 2 times"),
        (b'{"a": NaN}', "expected finite JSON numbers, got 'NaN'"),
        (b'{"a": ' + b"[" * 32 + b"]" * 32 + b"}", "expected JSON nested at most 32 deep, got 33 levels"),
        (b"{" + b" " * MOST_BYTES + b"}", "expected at most 1048576 bytes, got more"),
        (b"\xff", "expected JSON in UTF-8, got byte 0 that is not"),
    ],
)
def test_a_config_that_is_refused(text, sentence, tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(text)
    with pytest.raises(CheckpointError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")


def test_a_config_that_is_not_there(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json: expected a file, got nothing there"):
        read_config(tmp_path / "config.json")


def test_nan_is_never_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_config(tmp_path / "config.json", {"a": float("nan")})
