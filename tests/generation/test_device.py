"""Every method on arrays that keep CuPy's rules, with our GPT: the same texts as on NumPy."""

from functools import partial

import numpy as np
import pytest

from compare.cases.gpt import gpt_params
from compare.interpretations import strict_device
from refimpl.generation import (
    Constraints,
    Filters,
    Model,
    Stop,
    beam_search,
    contrastive,
    greedy,
    last,
    pad_left,
    sample,
    speculative,
)
from refimpl.layers.linear import linear
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.step import gpt_read, gpt_step

CONFIG = GptConfig(vocab_size=11, n_position=16, d_model=8, n_head=2, n_layer=2, d_ff=6)
HOST = gpt_params(np.random.default_rng(2), CONFIG, "backbone")
STOP = Stop(max_new_tokens=6, eos_ids=(0,), strings=("3-3",), to_string=lambda tokens: "-".join(map(str, tokens)))
RULES = Constraints(1.3, 2, ((4,), (5, 6)), 2, suppressed=(7,), suppressed_first=(8,), forced_last=9)
FILTERS = Filters(0.9, 6, 0.95, 0.01)


def step(token_ids, cache, mask, *, params):
    return gpt_step(token_ids, params, cache, config=CONFIG, mask=mask)


def step_with_states(token_ids, cache, mask, *, params):
    states, grown = gpt_read(token_ids, params, cache, config=CONFIG, mask=mask)
    return (linear(states, {"weight": params["token.weight"]})[0], states), grown


def write(method, lift):
    params = {key: lift(x) for key, x in HOST.items()}
    like = params["token.weight"]
    token_ids, mask = pad_left([[3, 4, 5], [7]] if method != "speculative" else [[3, 4, 5]], like=like)
    model = Model(partial(step, params=params))
    common = {"stop": STOP, "constraints": RULES}
    if method == "greedy":
        return last(greedy(model, token_ids, mask=mask, **common)).written()
    if method == "sample":
        numbers = np.random.default_rng(0)
        return last(sample(model, token_ids, numbers, mask=mask, filters=FILTERS, **common)).written()
    if method == "contrastive":
        states = Model(partial(step_with_states, params=params))
        return last(contrastive(states, token_ids, k=3, alpha=0.5, mask=mask, **common)).written()
    if method == "speculative":
        draft = Model(partial(step, params={key: x * 1.01 for key, x in params.items()}))
        numbers = np.random.default_rng(0)
        return last(speculative(model, draft, token_ids, numbers, n_draft=2, filters=FILTERS, **common)).written()
    groups = {"n_group": 2, "diversity_penalty": 0.5} if method == "diverse" else {}
    return beam_search(model, token_ids, mask=mask, n_beam=4, n_return=2, **groups, **common)


@pytest.mark.parametrize("method", ["greedy", "sample", "contrastive", "speculative", "beam", "diverse"])
def test_a_method_runs_on_the_device(method):
    assert write(method, strict_device.asarray) == write(method, np.asarray)
