"""The command on folders: what it prints, what it writes, and how it ends."""

import json
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
        "embeddings", "layer 0", "layer 1", "layer 2", "logits", "next-sentence logits",
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
