"""Diverse and contrastive search against transformers 4.36.2, the environment of which has both still."""

import json
import subprocess
from pathlib import Path

import pytest

from compare.peers.other_environment import PYTHON, what_is_missing
from refimpl.checkpoints import load_folder
from refimpl.generation import Constraints, Model, Stop, beam_search, contrastive, last, pad_left
from refimpl.layers.linear import linear
from refimpl.models.gpt.step import gpt_read, gpt_step
from tests.generation.peer import PAD, their_gpt2

TOKENS, MASK = pad_left([[3, 4, 5, 6], [4, 5], [3, 1, 3]], pad_id=PAD)
STOP, RULES = Stop(7, eos_ids=(0,), pad_id=PAD), Constraints(suppressed=(PAD,))
# Ended at once when full: without, 4.36.2 counts what has just ended among what could still become better.
DIVERSE = [
    {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.7, "length_penalty": 1.0},
    {"num_beams": 6, "num_beam_groups": 3, "diversity_penalty": 2.0, "length_penalty": 0.0},
    {"num_beams": 3, "num_beam_groups": 3, "diversity_penalty": 5.0, "length_penalty": 2.0},
]
CONTRASTIVE = [{"top_k": k, "penalty_alpha": alpha} for k, alpha in ((3, 0.3), (4, 0.6), (6, 0.9))]
KEYS = ["vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "bos_token_id", "eos_token_id", "pad_token_id"]


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """Folders, and what 4.36.2 writes with each: the diverse searches, then the contrastive ones."""
    if missing := what_is_missing():
        pytest.skip(f"transformers 4.36.2: {missing}")
    folders = [tmp_path_factory.mktemp("gpt") for _ in range(4)]
    for seed, folder in enumerate(folders):
        their_gpt2(seed, n_layer=1 + seed % 2).save_pretrained(folder)
    batch = {"token_ids": TOKENS.tolist(), "mask": MASK.astype(int).tolist()}
    calls = [{**batch, "settings": {**each, "early_stopping": True, "num_return_sequences": each["num_beams"]}}
             for each in DIVERSE]  # fmt: skip
    calls += [{"token_ids": TOKENS[:1].tolist(), "mask": [[1] * 4], "settings": each} for each in CONTRASTIVE]
    common = {"max_new_tokens": 7, "suppress_tokens": [PAD], "pad_token_id": PAD, "eos_token_id": 0}
    asked = json.dumps({"folders": list(map(str, folders)), "keys": KEYS, "calls": calls, "common": common})
    command = [PYTHON, "-I", "-W", "ignore", Path(__file__).with_name("old_generate.py")]
    answered = subprocess.run(command, input=asked, capture_output=True, text=True)
    assert answered.returncode == 0, answered.stderr
    written = [[_cut(row) for row in rows] for rows in json.loads(answered.stdout)]
    n_call = len(calls)
    return [(folder, written[i * n_call : (i + 1) * n_call]) for i, folder in enumerate(folders)]


def _cut(row):
    return row[: row.index(0) + 1] if 0 in row else row


def model_in(folder):
    checkpoint = load_folder(folder)
    params, config = checkpoint.params, checkpoint.config

    def step_with_states(token_ids, cache, mask):
        states, grown = gpt_read(token_ids, params, cache, config=config, mask=mask)
        return (linear(states, {"weight": params["token.weight"]})[0], states), grown

    def step(token_ids, cache, mask):
        return gpt_step(token_ids, params, cache, config=config, mask=mask)

    return Model(step), Model(step_with_states)


def test_diverse_beams_token_for_token(old):
    for folder, written in old:
        model, _ = model_in(folder)
        for each, want in zip(DIVERSE, written, strict=False):
            n_beam, n_group, penalty, length_penalty = each.values()
            found = beam_search(model, TOKENS, mask=MASK, n_beam=n_beam, n_group=n_group, diversity_penalty=penalty,
                                length_penalty=length_penalty, early_stopping=True, n_return=n_beam, stop=STOP,
                                constraints=RULES)  # fmt: skip
            assert [tokens for of_prompt in found.tokens for tokens in of_prompt] == want


def test_contrastive_search_token_for_token(old):
    for folder, written in old:
        _, model = model_in(folder)
        for each, want in zip(CONTRASTIVE, written[len(DIVERSE) :], strict=True):
            k, alpha = each.values()
            texts = contrastive(model, TOKENS[:1], k=k, alpha=alpha, stop=STOP, constraints=RULES)
            assert last(texts).written() == want
