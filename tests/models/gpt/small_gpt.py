"""GPTs of a few dozen numbers."""

from dataclasses import replace

import numpy as np

from compare.cases.draw import normal_params
from refimpl.checkpoints.families.gpt.names import gpt_rows
from refimpl.models.gpt.config import GptConfig
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import spread_run

GPT2 = GptConfig(vocab_size=7, n_position=5, d_model=6, n_head=2, n_layer=2, d_ff=8, n_label=3)
UNTIED = replace(GPT2, tied=False)
GPT1 = replace(GPT2, norm_first=False, d_ff=24)
GPT3 = replace(GPT2, window=2)
TOKEN_IDS = np.array([[2, 3, 2, 5], [4, 6, 1, 0]])
LEFT = np.array([[True, True, True, True], [False, False, True, True]])
RIGHT = LEFT[:, ::-1]


def params(config, *groups):
    """Random parameters of the backbone and of these groups of the name map."""
    there = ("backbone", *groups)
    shapes = {row.ours: row.our_shape for row in gpt_rows(config) if row.group in there}
    return normal_params(np.random.default_rng(3), shapes)


def run(function, config, *groups, token_ids=TOKEN_IDS, **masks):
    """What a model gives, and how far rounding may take it."""
    call = Call({"token_ids": token_ids}, params(config, *groups), {"config": config, **masks})
    component = component_of(function)
    return component(call)[0], {name: x.sigma for name, x in spread_run(component, call)[0].items()}
