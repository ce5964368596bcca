"""The command on folders: what it prints, what it writes, and how it ends."""

import json
import shutil
import sys

import pytest

import compare.folder.run
from compare.cli import main
from compare.report.schema import problems
from refimpl.checkpoints import read_safetensors, write_safetensors
from tests.checkpoints.tiny import tiny_config, tiny_model

SQUARE = "bert.encoder.layer.1.attention.output.dense.weight"


@pytest.fixture
def inside(monkeypatch, capfd):
    """The command in this process: status, standard output, standard error."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["refcompare", *map(str, words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code, *capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    folder = tmp_path_factory.mktemp("right")
    tiny_model("BertForPreTraining", tiny_config("bert")).save_pretrained(folder)
    return folder


@pytest.fixture
def wrong(right, tmp_path):
    """The same with one square matrix of layer 1 transposed, and another eps in config.json."""
    tensors = read_safetensors(right / "model.safetensors")
    write_safetensors(tmp_path / "model.safetensors", {**tensors, SQUARE: tensors[SQUARE].T}, {"format": "pt"})
    (tmp_path / "config.json").write_text((right / "config.json").read_text())
    return tmp_path


def test_run_takes_a_folder(right, inside, tmp_path):
    status, out, err = inside("run", right, "--output", tmp_path / "report", "--dtype", "float32")
    assert (status, err) == (0, "")
    assert "In float32 every stage is equal to rounding." in out
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert not problems(report)
    assert [row["config"]["name"] for row in report["cases"]] == [
        "embeddings", "layer 0", "layer 1", "layer 2", "pooler", "logits", "next-sentence logits",
    ]  # fmt: skip
    [study] = [row["study"] for row in report["cases"] if "study" in row]
    assert set(study["panels"][0]["lines"]) == {"alone", "in the model"}
    assert "Layer by layer, float32" in (tmp_path / "report" / "report.html").read_text()


def test_the_spoiled_layer_and_tensor_are_named(right, wrong, inside, tmp_path):
    status, out, err = inside("checkpoint", wrong, "--against", right, "--output", tmp_path / "report")
    assert (status, err) == (1, "")
    for dtype in ("float64", "float32"):
        assert f"In {dtype} layer 1 is the first that differs, by an error of its own" in out
    assert "The two checkpoints differ:\n  encoder.layers.1.self_attn.out_proj.weight: transposed\n" in out
    verdicts = {
        (row["config"]["name"], row["dtype"]): (row["verdict"], row["reason"])
        for row in json.loads((tmp_path / "report" / "report.json").read_text())["cases"]
    }
    assert verdicts["layer 0", "float64"] == ("PASS", "")
    assert verdicts["layer 1", "float64"][1].startswith("layer 1 adds an error of its own, on the true input: ")
    assert verdicts["layer 2", "float64"][1] == "inherited from layer 1: on the true input layer 2 passes"


def test_settings_that_differ_are_named(right, wrong, inside, tmp_path):
    settings = json.loads((right / "config.json").read_text())
    (wrong / "config.json").write_text(json.dumps({**settings, "layer_norm_eps": 1e-5}))
    write_safetensors(wrong / "model.safetensors", read_safetensors(right / "model.safetensors"), {"format": "pt"})
    further = ("--output", tmp_path / "report", "--dtype", "float64")
    status, out, _ = inside("checkpoint", wrong, "--against", right, *further)
    assert status == 1
    assert "In float64 embeddings is the first that differs" in out
    assert "norm_eps is 1e-05, there 1e-12" in out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"is_decoder": "yes"}, "is_decoder must be absent or False, got 'yes'"),
        ({"model_type": "none_such"}, "model_type must be one of"),
        ({"intermediate_size": 11}, "intermediate.dense.weight must have shape (11, 12), got (10, 12)"),
    ],
)
def test_what_is_not_supported_is_one_line(change, said, right, wrong, inside, tmp_path):
    settings = json.loads((right / "config.json").read_text())
    (wrong / "config.json").write_text(json.dumps({**settings, **change}))
    status, out, err = inside("run", wrong, "--output", tmp_path / "report")
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_folder_with_a_pickle_only_is_refused(wrong, inside, tmp_path):
    (wrong / "model.safetensors").rename(wrong / "pytorch_model.bin")
    status, _, err = inside("run", wrong, "--output", tmp_path / "report")
    assert status == 2
    assert "Loading a pickle can run any program" in err


def test_cases_and_folders_do_not_mix(right, inside):
    status, _, err = inside("run", "gelu", right)
    assert (status, err) == (2, "refcompare: name either cases or folders, not both\n")


def test_a_text_needs_a_tokenizer(right, inside):
    status, _, err = inside("checkpoint", right, "--text", "Hello")
    assert status == 2
    assert "expected a tokenizer of at most" in err


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_more_tokens_than_positions_are_refused_at_once(name, inside, tmp_path):
    class_name = {"bert": "BertForPreTraining", "llama": "LlamaForCausalLM"}[name]
    tiny_model(class_name, tiny_config(name)).save_pretrained(tmp_path)
    status, out, err = inside("checkpoint", tmp_path, "--tokens", 100000, "--output", tmp_path / "report")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--tokens must be at most 13 (n_position = 13), got 100000" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--config", "foo"), ("--peer", "torch"), ("--measure", "memory"), ("--profile", "quick"), ("--workers", 2),
        ("--fresh",), ("--plugin", "foo"), ("--backend", "numpy"),
    ],
)  # fmt: skip
def test_options_for_cases_are_refused_by_name(words, right, inside, tmp_path):
    status, out, err = inside("run", right, *words, "--output", tmp_path / "report")
    said = f"refcompare: {words[0]} is for cases and means nothing for a folder; leave it out\n"
    assert (status, out, err) == (2, "", said)


@pytest.mark.parametrize("command", ["run", "checkpoint"])
def test_an_output_that_cannot_be_written_is_said_before_any_work(command, right, inside, tmp_path, monkeypatch):
    monkeypatch.setattr(compare.folder.run, "run_folders", None)
    (tmp_path / "file").write_text("")
    status, out, err = inside(command, right, "--output", tmp_path / "file" / "report")
    assert (status, out, err) == (2, "", f"refcompare: cannot write {tmp_path / 'file' / 'report'}: Not a directory\n")


@pytest.mark.parametrize(("key", "value"), [("vocab_size", 29), ("num_hidden_layers", 2), ("hidden_size", 24)])
def test_another_model_to_compare_with_is_refused(key, value, right, inside, tmp_path):
    tiny_model("BertForPreTraining", tiny_config("bert", **{key: value})).save_pretrained(tmp_path)
    status, out, err = inside("checkpoint", right, "--against", tmp_path, "--output", tmp_path / "report")
    assert (status, out, err.count("\n")) == (2, "", 1)
    ours = {"num_hidden_layers": "n_layer", "hidden_size": "d_model"}.get(key, key)
    assert f"{tmp_path}: expected a model of the sizes of {right}: " in err
    assert f"{ours} is " in err and f", there {value}" in err


@pytest.mark.parametrize("command", ["run", "checkpoint"])
def test_an_interruption_is_one_line(command, right, inside, tmp_path, monkeypatch):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare.folder.run, "run_folders", interrupted)
    assert inside(command, right, "--output", tmp_path) == (130, "", "refcompare: interrupted\n")


def test_a_text_that_is_not_utf_8_is_refused(right, inside, tmp_path):
    status, _, err = inside("checkpoint", right, "--text", "caf\udce9", "--output", tmp_path)
    assert (status, err) == (2, "refcompare: the text must be UTF-8, got bytes that are no characters\n")


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    """A BERT of 13 positions with a tokenizer of single letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("reading")
    tiny_model("BertForTokenClassification", tiny_config("bert")).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel({letter: i + 1 for i, letter in enumerate("abcdefgh")}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_what_of_a_text_was_cut_is_said_everywhere(reading, inside, tmp_path):
    words = ("--text", "a b c d e f g h " * 2, "--seed", 3, "--dtype", "float32", "--output", tmp_path)
    status, out, err = inside("checkpoint", reading, *words)
    assert (status, err) == (0, "")
    said = "the text has 16 tokens, and the models read the first 13 of them (n_position = 13)"
    assert f"In float32 every stage is equal to rounding. T{said[1:]}." in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert {tuple(row["config"]["settings"]["notes"]) for row in report["cases"]} == {(said,)}
    assert all(row["config"]["sizes"] == {"token_ids": [1, 13]} for row in report["cases"])
    assert said[1:] in (tmp_path / "report.html").read_text()
    # The command that repeats a row reads the same.
    assert report["cases"][0]["repeat"].endswith("--text 'a b c d e f g h a b c d e f g h ' --seed 3 --dtype float32")


def test_a_text_that_fits_is_no_news(reading, inside, tmp_path):
    status, out, _ = inside("checkpoint", reading, "--text", "a b c", "--dtype", "float32", "--output", tmp_path)
    assert status == 0
    assert out.startswith(f"{reading.name}: BertForTokenClassification, float32 ")
    assert "the text" not in out.lower()


def test_a_text_and_random_tokens_exclude_each_other(reading, inside):
    status, _, err = inside("checkpoint", reading, "--text", "a", "--tokens", 3)
    said = "--tokens is for random tokens and means nothing for a text; leave one of the two out"
    assert (status, err) == (2, f"refcompare: {said}\n")


def test_more_than_fits_into_the_memory_is_refused_before_the_work(inside, tmp_path):
    tiny_model("BloomForCausalLM", tiny_config("bloom")).save_pretrained(tmp_path)
    words = ("--tokens", 10**9, "--memory-limit", 2, "--output", tmp_path / "report")
    status, out, err = inside("checkpoint", tmp_path, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"refcompare: {tmp_path}: 1000000000 tokens need about " in err
    assert "of memory, more than the limit of 2 GiB; about " in err


def test_folders_of_one_name_are_told_apart(reading, inside, tmp_path):
    both = [shutil.copytree(reading, tmp_path / parent / "model") for parent in ("one", "two")]
    status, out, _ = inside("run", *both, "--dtype", "float32", "--output", tmp_path / "report")
    assert status == 0
    assert all(f"{folder}: BertForTokenClassification, float32" in out for folder in both)
    status, _, err = inside("run", both[0], both[0], "--output", tmp_path / "report")
    assert (status, err) == (2, "refcompare: every folder must be given once\n")
