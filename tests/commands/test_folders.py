"""``generate`` with a folder against ``transformers.generate`` with the same folder: the same tokens."""

import itertools
import json
from dataclasses import replace

import pytest

from refimpl.checkpoints.generation_settings import as_tokens
from refimpl.commands.told import rules_of
from refimpl.generation import Constraints, pad_left
from tests.commands.folders import WITH_ENCODER, their_texts, tiny_folder

PROMPTS = ["the king", "a fool of the queen in the hall"]
EXACT = ["--dtype", "float64"]
ENDS = [2, *range(5, 60, 2)]


def our_texts(command, folder, prompts, *options):
    said = list(itertools.chain.from_iterable(("--prompt", prompt) for prompt in prompts))
    status, out, err = command("generate", folder, *said, *EXACT, *options)
    assert not status, err
    return out, int(err.rsplit(" tokens in", 1)[0].split()[-1])


def check(command, folder, prompts, options, settings):
    """Compare the texts and, as some tokens show nothing, how many there are."""
    texts, n_token = their_texts(folder, prompts, **settings)
    assert our_texts(command, folder, prompts, *options) == ("".join(text + "\n" for text in texts), n_token)
    return texts, n_token


SEARCHES = {
    "greedy": (["--method", "greedy"], {"num_beams": 1}),
    "no cache": (["--method", "greedy", "--no-cache"], {"num_beams": 1}),
    "beams": (
        ["--beams", 3, "--return", 2, "--length-penalty", -2],
        {"num_beams": 3, "num_return_sequences": 2, "length_penalty": -2.0},
    ),
    "sampling at 0": (["--temperature", 0], {"num_beams": 1}),
    "sampling from 1": (["--top-k", 1, "--seed", 3], {"do_sample": True, "top_k": 1}),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("model_type", [*WITH_ENCODER, "gpt2", "llama"])
def test_every_search_writes_what_transformers_writes(command, tmp_path, model_type, search):
    options, settings = SEARCHES[search]
    folder = tiny_folder(tmp_path / "model", model_type, eos_token_id=ENDS)
    n_row = len(PROMPTS) * settings.get("num_return_sequences", 1)
    options, settings = [*options, "--max-new-tokens", 9], settings | {"max_new_tokens": 9}
    _, n_token = check(command, folder, PROMPTS, options, settings)
    check(command, folder, PROMPTS[:1], options, settings)
    assert (model_type, search) != ("gpt2", "beams") or n_token < 9 * n_row  # texts end


# What published folders say, and what else `transformers` obeys.
SAID = {
    "nothing": {},
    "several ends": {"eos_token_id": [2, 7, 9, 11, 13]},
    "marian": {
        "bad_words_ids": [[1]], "num_beams": 4, "max_length": 22, "renormalize_logits": True, "forced_eos_token_id": 2,
    },
    "bart": {
        "num_beams": 4, "no_repeat_ngram_size": 2, "early_stopping": True, "length_penalty": 2.0, "min_length": 6,
        "max_length": 22, "forced_bos_token_id": 0, "forced_eos_token_id": 2,
    },
    "whisper": {"suppress_tokens": [1, 4, 5, 6], "begin_suppress_tokens": [8, 9], "forced_bos_token_id": 10},
    "penalties": {"repetition_penalty": 1.7, "min_new_tokens": 4, "bad_words_ids": [[2], [5], [6, 7]]},
    "a length": {"max_new_tokens": 5, "max_length": 30},
    "sharp": {"do_sample": True, "top_k": 1, "temperature": 0.5, "min_length": 3},
    "forced last": {"forced_eos_token_id": [5, 6], "max_new_tokens": 4},
}  # fmt: skip


@pytest.mark.parametrize("model_type", ["bart", "t5", "gpt2"])
@pytest.mark.parametrize("name", SAID)
def test_what_a_folder_says_is_done(command, tmp_path, name, model_type):
    folder = tiny_folder(tmp_path / "model", model_type, **SAID[name])
    has_length = {"max_length", "max_new_tokens"} & set(SAID[name])
    check(command, folder, PROMPTS, [] if has_length else ["--max-new-tokens", 8],
          {} if has_length else {"max_new_tokens": 8})  # fmt: skip


@pytest.mark.parametrize("model_type", ["bart", "gpt2"])
def test_config_json_speaks_where_there_is_no_other_file(command, tmp_path, model_type):
    folder = tiny_folder(tmp_path / "model", model_type)
    said = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").unlink()
    settings = json.loads((folder / "config.json").read_text())
    old = {"num_beams": 3, "no_repeat_ngram_size": 2, "length_penalty": 0.5, "max_length": 22, "bad_words_ids": [[1]]}
    (folder / "config.json").write_text(json.dumps(settings | said | old))
    check(command, folder, PROMPTS, [], {})


GREEDY = [["--method", "contrastive", "--alpha", 0], ["--temperature", 0, "--draft", "itself"]]


@pytest.mark.parametrize("options", GREEDY)
@pytest.mark.parametrize("model_type", ["marian", "t5"])
def test_what_is_greedy_by_other_means_is_greedy_with_an_encoder(command, tmp_path, model_type, options):
    folder = tiny_folder(tmp_path / "model", model_type)
    options = [folder if option == "itself" else option for option in options]
    check(command, folder, PROMPTS[:1], [*options, "--max-new-tokens", 9], {"num_beams": 1, "max_new_tokens": 9})


def test_a_string_of_the_folder_ends_a_text(command, tmp_path):
    whole, n_token = our_texts(command, tiny_folder(tmp_path / "a", "t5"), PROMPTS[:1], "--max-new-tokens", 9)
    end = whole.rstrip("\n")[len(whole) // 2 :][:2]
    cut, n_cut = our_texts(command, tiny_folder(tmp_path / "b", "t5", stop_strings=end), PROMPTS[:1])
    assert whole.startswith(cut.rstrip("\n"))
    assert end in cut
    assert n_cut < n_token


def test_sampling_with_beams_is_refused_by_name(command, tmp_path):
    folder = tiny_folder(tmp_path / "model", "gpt2", do_sample=True, num_beams=3)
    status, out, err = command("generate", folder, "--prompt", "the")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "generation_config.json: do_sample with num_beams = 3 is beam sampling, which refimpl does not do" in err
    assert not command("generate", folder, "--prompt", "the", "--method", "beam", "--max-new-tokens", 3)[0]


def without(name):
    def changed(*args, **settings):
        return replace(rules_of(*args, **settings), **{name: Constraints.__dataclass_fields__[name].default})

    return changed


PLANTED = {
    "no first token is forced": ("generate.rules_of", without("forced_first"), "bart"),
    "no last token is forced": ("generate.rules_of", without("forced_last"), "forced last"),
    "bad words may come": ("generate.rules_of", without("bad_words"), "penalties"),
    "nothing is suppressed": ("generate.rules_of", without("suppressed"), "whisper"),
    "the end may come at once": ("generate.rules_of", without("min_new_tokens"), "penalties"),
    "one end of several": ("told.as_tokens", lambda value: as_tokens(value)[:1], "several ends"),
    "another token begins": ("writer.Writer._start_id", lambda writer: 4, "nothing"),
    "padding is read": ("writer.pad_left", lambda x, **more: pad_left([[1] * 9 + row for row in x], **more), "nothing"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_mistake_is_noticed(command, tmp_path, monkeypatch, name):
    place, wrong, said = PLANTED[name]
    settings = {"eos_token_id": ENDS} if name == "the end may come at once" else {}
    folder = tiny_folder(tmp_path / "model", "t5", **SAID[said] | settings)
    limit = [] if "max_length" in SAID[said] else ["--max-new-tokens", 8]
    theirs = {"max_new_tokens": 8} if limit else {}
    check(command, folder, PROMPTS, limit, theirs)
    monkeypatch.setattr(f"refimpl.commands.{place}", wrong)
    with pytest.raises(AssertionError):
        check(command, folder, PROMPTS, limit, theirs)
