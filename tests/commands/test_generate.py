import json
import shutil

import pytest

from refimpl.checkpoints import load_folder
from refimpl.commands.told import stop_of
from refimpl.commands.writer import load_writer

SHORT = ["--max-new-tokens", 9]


@pytest.mark.parametrize(
    "options",
    [
        ["greedy"],
        ["sample", "--seed", 3, "--temperature", 0.8, "--top-k", 5, "--top-p", 0.9, "--min-p", 0.01],
        ["contrastive", "--candidates", 3, "--alpha", 0.5],
        ["beam", "--beams", 3, "--length-penalty", 0.5, "--early-stopping", "never", "--return", 2],
        ["diverse", "--beams", 4, "--groups", 2, "--diversity-penalty", 2.0],
        ["speculative", "--draft", "itself", "--draft-tokens", 2],
    ],
    ids=lambda options: options[0],
)
def test_every_method_writes_the_same_with_and_without_a_cache(command, trained, options):
    options = [trained if option == "itself" else option for option in options]
    outs = []
    for cache in ("--cache", "--no-cache"):
        status, out, err = command("generate", trained, "--prompt", "2 times", "--method", *options, *SHORT, cache)
        assert not status, err
        assert "2 times" in out
        assert "tokens in" in err
        outs.append(out)
    assert outs[0] == outs[1]


def test_a_seed_says_what_is_written(command, trained):
    outs = [command("generate", trained, "--prompt", "3", "--seed", seed, *SHORT)[1] for seed in (1, 1, 2)]
    assert outs[0] == outs[1] != outs[2]


def test_several_prompts_are_written_side_by_side(command, trained):
    one = command("generate", trained, "--prompt", "7 times", "--method", "greedy", *SHORT)[1]
    status, out, _ = command(
        "generate", trained, "--prompt", "7 times", "--prompt", "12", "--method", "greedy", *SHORT
    )
    assert not status
    assert out.startswith(one)


def test_constraints_and_stops_hold(command, trained):
    status, out, _ = command("generate", trained, "--prompt", "4", "--bad-word", "e", "--bad-word", "im",
                             "--no-repeat-ngram", 2, "--repetition-penalty", 1.2, *SHORT)  # fmt: skip
    assert not status
    assert "e" not in out
    assert "im" not in out
    plain = command("generate", trained, "--prompt", "4", "--seed", 5, "--max-new-tokens", 20)[1].rstrip("\n")
    stop = plain[6:8]
    stopped = command("generate", trained, "--prompt", "4", "--seed", 5, "--max-new-tokens", 20, "--stop", stop)[1]
    assert stopped.rstrip("\n") == plain[: plain.index(stop, 1) + 2].rstrip("\n")


def test_a_text_is_no_longer_than_the_model_has_positions(command, trained):
    _, out, err = command("generate", trained, "--prompt", "4", "--method", "greedy", "--max-new-tokens", 500)
    assert "31 tokens in" in err
    assert len(out.removesuffix("\n")) == 32


def saying(trained, folder, **said):
    shutil.copytree(trained, folder)
    (folder / "generation_config.json").write_text(json.dumps(said))
    return folder


@pytest.mark.parametrize("eos", [4, [4, 5]])
def test_a_text_may_begin_with_nothing_where_a_token_begins_texts(command, trained, tmp_path, eos):
    folder = saying(trained, tmp_path / "model", bos_token_id=3, eos_token_id=eos)
    stop = stop_of(load_writer(folder), 1, max_new_tokens=None, strings=())
    assert stop.eos_ids == (tuple(eos) if isinstance(eos, list) else (eos,))
    status, out, _ = command("generate", folder, "--method", "greedy", *SHORT)
    assert (status, bool(out.strip())) == (None, True)


WRONG = [
    (["--method", "beam", "--seed", 3], "--seed is for --method sample or speculative, got --method beam"),
    (["--method", "sample", "--beams", 3], "--beams is for --method beam or diverse, got --method sample"),
    (["--top-p", 0.5, "--beams", 3], "--top-p is for --method sample or speculative; --beams is for --method beam or "
                                     "diverse; no method has them all"),
    (["--method", "speculative"], "--method speculative needs --draft"),
    (["--method", "nonsense"], "Invalid value for '--method'"),
    (["--temperature", -1], "temperature must be at least 0, got -1.0"),
    (["--temperature", "inf"], "temperature must be finite, got inf"),
    (["--top-p", 2], "top_p must be in [0, 1], got 2"),
    (["--method", "diverse", "--beams", 3], "n_beam must be a multiple of n_group = 2, got 3"),
    (["--prompt", "x" * 40], "--prompt has 40 tokens, but the model has only 32 positions"),
    (["--backend", "abacus"], "backend must be one of numpy, cupy, got 'abacus'"),
    (["--repetition-penalty", 0], "repetition_penalty must be in [1e-06, 1e+06], got 0.0"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_cannot_be_done_is_one_line(command, trained, options, message):
    prompt = [] if "--prompt" in options else ["--prompt", "2"]
    status, out, err = command("generate", trained, *prompt, *options)
    assert (status, out) == (2, "")
    assert err.startswith("refimpl: ")
    assert message in err
    assert err.count("\n") == 1


def test_folders_that_cannot_write_are_refused(command, trained, tmp_path):
    status, _, err = command("generate", tmp_path / "nowhere", "--prompt", "2")
    assert (status, err.count("\n")) == (2, 1)
    assert "config.json" in err
    folder = saying(trained, tmp_path / "mute")
    (folder / "tokenizer.json").unlink()
    assert "expected a tokenizer" in command("generate", folder, "--prompt", "2")[2]
    status, _, err = command("generate", trained)
    assert (status, "has no tokens, and this model has no token to begin a text with" in err) == (2, True)


def test_the_folder_is_one_of_hugging_face(trained):
    """`transformers` loads what was trained here, and gives the same logits."""
    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    from refimpl.models.gpt.heads import gpt_lm

    theirs = AutoModelForCausalLM.from_pretrained(trained).double().eval()
    tokens = PreTrainedTokenizerFast(tokenizer_file=str(trained / "tokenizer.json"))("5 times 5 is")["input_ids"]
    checkpoint = load_folder(trained)
    params = {key: x.astype(np.float64) for key, x in checkpoint.params.items()}
    logits, _ = gpt_lm(np.array([tokens]), params, config=checkpoint.config)
    with torch.no_grad():
        want = theirs(torch.tensor([tokens])).logits.numpy()
    # A hundred roundings or so, of numbers about as large as the logits.
    assert np.max(np.abs(logits - want)) <= 128 * np.finfo(float).eps * np.max(np.abs(want))


@pytest.mark.parametrize("option", ["--prompt", "--bad-word"])
def test_bytes_that_are_no_text_are_refused(command, trained, option):
    status, _, err = command("generate", trained, "--prompt", "1", option, "\udcff")
    assert (status, f"{option} must be text in UTF-8" in err) == (2, True), err


def test_a_power_of_the_length_that_leaves_the_numbers_is_refused(command, trained):
    status, _, err = command("generate", trained, "--prompt", "1", "--method", "beam", "--length-penalty", "1e10")
    assert (status, "length_penalty must be in [-50" in err) == (2, True), err


def test_a_file_that_is_missing_is_named_once(command, tmp_path):
    status, _, err = command("generate", tmp_path / "nothing")
    assert (status, err.count("config.json")) == (2, 1)


def test_an_interrupt_is_told(command, monkeypatch):
    monkeypatch.setattr("refimpl.commands.cli.app", lambda **settings: 130)  # what typer makes of Ctrl-C
    status, _, err = command("generate")
    assert (status, err.strip()) == (130, "refimpl: interrupted")
