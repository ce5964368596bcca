"""Cases of the GPTs: every dtype passes, and the peers are what they say."""

import numpy as np
import pytest
import torch

from compare.cases.gpt import GPT1, GPT2, draw_text, gpt_params
from compare.cases.gpt_heads import heads_of_texts
from compare.cases.registry import case_named
from compare.peers.transformers_gpt import call_gpt, gpt_model
from compare.run.row import judge_config
from refimpl.models.gpt.model import text_positions

CASES = ("gpt1", "gpt2", "gpt3", "gpt_lm", "gpt_for_sequence_classification")


@pytest.mark.parametrize("name", CASES)
def test_every_dtype_passes(name):
    case = case_named(name)
    for config in case.configs:
        for dtype in () if config.measured or config.profile == "full" else case.dtypes:
            rows = judge_config(case, config, dtype)
            assert [(row["peer"], row["verdict"], row["reason"]) for row in rows if row["verdict"] != "PASS"] == []


@pytest.mark.parametrize("config", [GPT1, GPT2], ids=["gpt1", "gpt2"])
@pytest.mark.parametrize("group", ["head", "classifier"])
def test_models_on_the_meta_device_hold_no_numbers(config, group):
    model = gpt_model(config, frozenset({group}))
    assert all(parameter.is_meta for parameter in model.parameters())
    assert not model.training


@pytest.mark.parametrize("side", ["left", "right"])
def test_texts_are_padded_on_one_side(side, generator):
    token_ids, masks = draw_text(generator, GPT2, 4, 6, side)
    mask = masks["mask"]
    assert np.array_equal(token_ids != GPT2.pad_id, mask)
    assert mask.sum(axis=1).tolist() == [6, 5, 4, 3]
    assert mask[:, -1 if side == "left" else 0].all()


def test_the_first_token_behind_padding_is_no_target():
    mask = np.array([[False, True, True], [True, True, False]])
    assert heads_of_texts(np, mask).tolist() == [[False, False, True], [True, True, False]]


def test_their_own_positions_read_a_text_padded_on_the_left_otherwise(generator):
    """They count from the left edge unless told: why the peer is told."""
    params = {key: torch.tensor(x) for key, x in gpt_params(generator, GPT2, "backbone").items()}
    mask = np.array([[False, False, True, True, True]])
    token_ids = torch.tensor(np.where(mask, [[0, 0, 5, 6, 7]], GPT2.pad_id))
    edge, places = text_positions(token_ids.numpy()), text_positions(token_ids.numpy(), mask=mask)
    states = [
        call_gpt(token_ids, params, config=GPT2, mask=torch.tensor(mask), position_ids=where).last_hidden_state
        for where in (None, torch.tensor(places), torch.tensor(edge))
    ]
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])
