"""``generate`` with a Transformer-XL, which remembers by its memory, against transformers 4.36.2."""

import json
import subprocess
from pathlib import Path

import pytest

from compare.peers.other_environment import PYTHON, what_is_missing
from tests.commands.folders import VOCAB_SIZE, small_tokenizer

PROMPT, N_NEW = "the king met", 9
# So short a memory that most of the text is forgotten.
SETTINGS = {
    "vocab_size": VOCAB_SIZE, "cutoffs": [20, 40], "d_model": 6, "d_embed": 6, "n_head": 2, "d_head": 3, "n_layer": 2,
    "d_inner": 5, "mem_len": 4, "clamp_len": 3, "div_val": 2, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1,
}  # fmt: skip
CALLS = [{}, {"num_beams": 3, "num_return_sequences": 2}]
OPTIONS = [["--method", "greedy"], ["--beams", 3, "--return", 2]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of theirs, a tokenizer beside it, and what they write."""
    if missing := what_is_missing():
        pytest.skip(f"transformers 4.36.2: {missing}")
    folder, tokenizer = tmp_path_factory.mktemp("transformer_xl"), small_tokenizer("transfo-xl")
    asked = {"settings": SETTINGS, "prompt": tokenizer.encode(PROMPT).ids, "n_new": N_NEW, "calls": CALLS}
    command = [PYTHON, "-I", "-W", "ignore", Path(__file__).with_name("transformer_xl_writes.py"), folder]
    answered = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
    assert answered.returncode == 0, answered.stderr[-2000:]
    tokenizer.save(str(folder / "tokenizer.json"))
    written = [[tokenizer.decode(row) for row in rows] for rows in json.loads(answered.stdout)]
    return folder, written


def test_a_memory_writes_what_theirs_writes(command, folder):
    folder, written = folder
    for options, texts in zip(OPTIONS, written, strict=True):
        words = ["--prompt", PROMPT, "--max-new-tokens", N_NEW, "--dtype", "float64", *options]
        status, out, err = command("generate", folder, *words)
        assert not status, err
        assert out == "".join(f"{PROMPT}{text}\n" for text in texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-cache"], "--no-cache is not for transfo-xl: its memory is a part of the model"),
        (["--candidates", 3], "--method contrastive is not for a model whose memory forgets"),
        (["--draft", "itself"], "--method speculative is not for a model whose memory forgets"),
    ],
)
def test_what_a_memory_cannot_do_is_refused(command, folder, options, message):
    options = [folder[0] if option == "itself" else option for option in options]
    status, out, err = command("generate", folder[0], "--prompt", PROMPT, *options)
    assert (status, out, message in err) == (2, "", True), err
