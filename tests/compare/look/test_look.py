"""The maps are the weights of the models, and the command shows them."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from compare.cli import main
from compare.costs.published import PUBLISHED, _gpt
from compare.look.memory import measured_memory
from compare.look.models import folder_reader
from compare.look.page import render_page
from compare.look.plot import draw_maps
from compare.look.weights import attention_weights, habits
from refimpl.checkpoints import CheckpointError
from tests.checkpoints.tiny import tiny_config, tiny_model

WORDS = "the animal did not cross street because it was too tired".split()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A BERT and a GPT-2 with random weights, each with a tokenizer of a few words."""
    made = {}
    for name, class_name in (("bert", "BertForPreTraining"), ("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaModel")):
        made[name] = tmp_path_factory.mktemp(name)
        model = tiny_model(class_name, tiny_config(name, attn_implementation="eager"))
        model.save_pretrained(made[name])
        tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["?", *WORDS])}, "?"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(made[name] / "tokenizer.json"))
        made[f"{name} model"] = model
    return made


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_the_weights_are_those_of_transformers(name, folders):
    reader = folder_reader(folders[name], "the animal did not cross the street", "it")
    found = attention_weights(reader.checkpoint, reader.token_ids)
    with torch.no_grad():
        model = folders[f"{name} model"]
        theirs = model(input_ids=torch.tensor([reader.token_ids]), output_attentions=True).attentions
    assert len(found) == len(theirs) == 3
    for mine, other in zip(found, theirs, strict=True):
        assert mine.shape == (3, 7, 7)
        # Another head, layer or row would differ by tenths: half the digits of float32 are far more than rounding.
        assert np.abs(mine - other[0].numpy()).max() < 2.0**-12


def test_a_gpt_looks_back_only_and_a_bert_both_ways(folders):
    found = {}
    for name in ("bert", "gpt2"):
        reader = folder_reader(folders[name], " ".join(WORDS[:8]), name)
        found[name] = habits(attention_weights(reader.checkpoint, reader.token_ids))
        for earlier, itself, later in zip(*(found[name][key] for key in ("earlier", "itself", "later")), strict=True):
            assert abs(earlier + itself + later - 1) < 2.0**-12
    assert found["gpt2"]["later"] == [0.0, 0.0, 0.0]
    assert min(found["bert"]["later"]) > 0


def test_habits_of_heads_that_are_known():
    even, back = np.full((1, 4, 4), 0.25), np.eye(4)[None, [0, 0, 1, 2]]
    found = habits([even, back])
    assert found["entropy, bits"] == [2.0, 0.0]
    assert found["itself"] == [0.25, 0.25]
    assert found["earlier"] == [0.375, 0.75]
    assert found["the first"] == [0.25, 0.5]


def test_another_model_is_refused(folders):
    with pytest.raises(CheckpointError, match="expected a model of bert, gpt2, openai-gpt, got llama"):
        folder_reader(folders["llama"], "it was too tired", "Llama")


def test_a_folder_without_a_tokenizer_and_a_text_without_tokens_are_refused(folders, tmp_path):
    with pytest.raises(CheckpointError, match="expected a text of at least one token"):
        folder_reader(folders["bert"], "  ", "it")
    for file in folders["bert"].iterdir():
        if file.name != "tokenizer.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(CheckpointError, match="expected a tokenizer, got nothing there"):
        folder_reader(tmp_path, "it was", "it")


def test_the_maps_stand_side_by_side(folders):
    readers = [folder_reader(folders[name], "it was too tired", name) for name in ("bert", "gpt2")]
    weights = [attention_weights(reader.checkpoint, reader.token_ids) for reader in readers]
    figure = draw_maps(readers, weights, layers=[0, 2])
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 4
    assert [tick.get_text() for tick in panels[0].get_xticklabels()] == ["it", "was", "too", "tired"]
    assert np.array_equal(panels[1].images[0].get_array(), weights[1][0].mean(axis=0))
    assert np.array_equal(draw_maps(readers, weights, head=1).axes[0].images[0].get_array(), weights[0][0][1])


def test_what_was_read_is_escaped_on_the_page():
    figure = SimpleNamespace(savefig=lambda file, **settings: file.write(b"picture"))
    page = render_page("<script>alert(1)</script>", figure, [("T", ["<b>"], [["&"]])])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page


def test_the_analytic_memory_is_the_measured_one(monkeypatch):
    small = _gpt("small", "", 64, 3, 4, 128, 200)
    monkeypatch.setitem(PUBLISHED, "small", small)
    found = measured_memory("small", 96)
    # Python's own objects and NumPy's temporaries come on top.
    assert 0.95 < found["measured"] / found["analytic"] < 1.1


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["refcompare", "look", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_the_command_writes_page_and_picture(folders, monkeypatch, capsys, tmp_path):
    models = ("--bert", folders["bert"], "--gpt", folders["gpt2"])
    assert run(monkeypatch, "it was too tired", *models, "--no-memory", "--output", tmp_path) == 0
    out = capsys.readouterr().out
    assert f"Where {folders['bert'].name} looks" in out
    assert f"Where {folders['gpt2'].name} looks" in out
    assert (tmp_path / "attention.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "attention.html").read_text()
    assert "it was too tired" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_small_gpt_is_trained_where_none_is_given(folders, monkeypatch, capsys, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(" ".join(WORDS) * 200)
    words = ("it was", "--bert", folders["bert"], "--corpus", corpus, "--steps", 2, "--no-memory", "--output", tmp_path)
    assert run(monkeypatch, *words) == 0
    assert "GPT-2 of 4 layers, 2 steps old" in capsys.readouterr().out


def test_a_folder_that_is_refused_is_one_line(folders, monkeypatch, capsys, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "none_such"}))
    assert run(monkeypatch, "it", "--bert", folders["bert"], "--gpt", tmp_path, "--no-memory") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("words", "said"), [
    (("--layer", 3), "--layer must be from -3 to 2 for "),
    (("--layer", 0, "--layer", -4), "--layer must be from -3 to 2 for "),
    (("--head", 3), "--head must be from -3 to 2 for "),
])  # fmt: skip
def test_layers_and_heads_that_are_not_there_are_refused(words, said, folders, monkeypatch, capsys, tmp_path):
    models = ("--bert", folders["bert"], "--gpt", folders["gpt2"], "--no-memory", "--output", tmp_path)
    assert run(monkeypatch, "it was", *models, *words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


def test_what_cannot_be_read_or_written_is_said_before_any_work(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert run(monkeypatch, "it was", "--output", tmp_path / "file" / "look") == 2
    assert capsys.readouterr().err == f"refcompare: cannot write {tmp_path / 'file' / 'look'}: Not a directory\n"
    assert run(monkeypatch, "caf\udce9", "--output", tmp_path) == 2
    assert capsys.readouterr().err == "refcompare: the text must be UTF-8, got bytes that are no characters\n"
