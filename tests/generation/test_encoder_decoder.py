"""An encoder–decoder writes too: what the encoder read is where its cache starts."""

from functools import partial

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration

from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.generation import Constraints, Model, Stop, beam_search, greedy, last
from refimpl.models.encoder_decoder.step import encoder_decoder_start, encoder_decoder_step

SOURCE = np.array([[3, 4, 5, 6, 7], [8, 9, 4, 1, 1]])
MASK = SOURCE != 1
N_NEW = 6
ENDS = (2, 4, 9)


def both(seed, use_cache):
    torch.manual_seed(seed)
    config = BartConfig(
        vocab_size=13, d_model=12, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=10, decoder_ffn_dim=10, max_position_embeddings=16, init_std=0.25,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
    )  # fmt: skip
    theirs = BartForConditionalGeneration(config).double().eval()
    family = FAMILIES["bart"]
    ours = family.config_from_hf(theirs.config.to_dict())
    params = family.names.from_hf({name: x.numpy() for name, x in theirs.state_dict().items()}, ours)

    def step(token_ids, cache, mask):
        return encoder_decoder_step(token_ids, params, cache, config=ours, mask=mask)

    start = encoder_decoder_start(SOURCE, params, config=ours, mask=MASK)
    return theirs, Model(step, start=start, use_cache=use_cache), np.full((2, 1), ours.start_id)


def cut(row):
    ends = [i for i, token in enumerate(row) if token in ENDS]
    return row[: ends[0] + 1] if ends else row


@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy_and_beam_search_token_for_token(use_cache):
    stop, rules = Stop(N_NEW, eos_ids=ENDS, pad_id=1), Constraints(suppressed=(1,), min_new_tokens=2)
    n_ended = 0
    for seed in range(6):
        theirs, model, begun = both(seed, use_cache)
        source = {"inputs": torch.tensor(SOURCE), "attention_mask": torch.tensor(MASK).long()}
        limits = {"max_new_tokens": N_NEW, "min_new_tokens": 2, "suppress_tokens": [1], "eos_token_id": list(ENDS)}
        ask = partial(theirs.generate, do_sample=False, **source, **limits)
        want = [cut(row) for row in ask(num_beams=1)[:, 1:].tolist()]
        assert last(greedy(model, begun, stop=stop, constraints=rules)).written() == want
        want = [cut(row) for row in ask(num_beams=3, num_return_sequences=3)[:, 1:].tolist()]
        found = beam_search(model, begun, n_beam=3, n_return=3, stop=stop, constraints=rules)
        assert [tokens for of_prompt in found.tokens for tokens in of_prompt] == want
        n_ended += sum(len(tokens) < N_NEW for tokens in want)
    assert n_ended > 0
