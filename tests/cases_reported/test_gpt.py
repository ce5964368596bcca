"""Public reports that touch a whole decoder, held against GPT-1, GPT-2 and GPT-3."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from refimpl.models.gpt.heads import gpt_lm
from refimpl.models.gpt.model import text_positions
from refimpl.models.gpt.step import gpt_step
from tests.models.gpt.small_gpt import GPT1, GPT2, GPT3, LEFT, TOKEN_IDS, params, run
from tests.properties.rounding import assert_close

FAMILY = pytest.mark.parametrize("config", [GPT1, GPT2, GPT3], ids=["gpt1", "gpt2", "gpt3"])


@FAMILY
def test_A2_a_text_of_nothing_but_padding_spoils_no_gradient(config):
    """Not one bit of them: its logits have no gradient, and nobody reads its states."""
    nothing = np.array([[True] * 4, [False] * 4])
    y, pullback = gpt_lm(TOKEN_IDS, params(config), config=config, mask=nothing)
    others = np.where(nothing, TOKEN_IDS, 5)
    dy = np.where(nothing[..., None], np.random.default_rng(0).standard_normal(y.shape), 0.0)
    (dparams,), (again,) = pullback(dy), gpt_lm(others, params(config), config=config, mask=nothing)[1](dy)
    for key, gradient in dparams.items():
        assert np.all(np.isfinite(gradient)), key
        np.testing.assert_array_equal(again[key], gradient, err_msg=key)


def test_P3_positions_of_a_text_padded_on_the_left():
    expected = np.clip(np.cumsum(LEFT, axis=-1) - 1, 0, None)
    np.testing.assert_array_equal(text_positions(TOKEN_IDS, mask=LEFT), expected)


@FAMILY
@pytest.mark.parametrize("mask", [None, LEFT], ids=["in full", "padded"])
def test_G1_logits_with_a_cache_equal_logits_without_for_every_split(config, mask):
    want, sigmas = run(gpt_lm, config, mask=mask)
    is_token = np.ones(TOKEN_IDS.shape, bool) if mask is None else mask
    for bounds in (cut for n in range(4) for cut in combinations([1, 2, 3], n)):
        past, parts = None, []
        for start, stop in pairwise([0, *bounds, 4]):
            here = None if mask is None else mask[:, :stop]
            logits, past = gpt_step(TOKEN_IDS[:, start:stop], params(config), past, config=config, mask=here)
            parts.append(logits)
        got = np.concatenate(parts, axis=1)
        assert_close(got[is_token], want[is_token], sigmas["y"][is_token], name=f"logits in parts {bounds}")
