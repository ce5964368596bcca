"""``generate`` with a folder against ``transformers.generate`` with the same folder: the same tokens."""

import itertools

import pytest

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
    "whisper": {"suppress_tokens": [4, 5, 6], "begin_suppress_tokens": [8, 9], "forced_bos_token_id": 10},
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
