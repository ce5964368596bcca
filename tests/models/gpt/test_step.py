import numpy as np
import pytest

from refimpl.attention.cache.key_value import reorder, rewind
from refimpl.models.gpt.heads import gpt_lm
from refimpl.models.gpt.step import gpt_step
from tests.models.gpt.small_gpt import GPT1, GPT2, GPT3, LEFT, TOKEN_IDS, UNTIED, params, run
from tests.properties.rounding import assert_close

FAMILY = pytest.mark.parametrize("config", [GPT1, GPT2, GPT3, UNTIED], ids=["gpt1", "gpt2", "gpt3", "untied"])


@FAMILY
def test_a_prompt_and_then_one_token_at_a_time(config):
    of_all = params(config, "head")
    want, sigmas = run(gpt_lm, config, "head", mask=LEFT)
    logits, past = gpt_step(TOKEN_IDS[:, :2], of_all, None, config=config, mask=LEFT[:, :2])
    assert logits.shape == (2, 2, 7)
    assert_close(logits[0], want[0, :2], sigmas["y"][0, :2], name="logits of the prompt")
    for n in (3, 4):
        logits, past = gpt_step(TOKEN_IDS[:, n - 1 : n], of_all, past, config=config, mask=LEFT[:, :n])
        assert_close(logits[:, 0], want[:, n - 1], sigmas["y"][:, n - 1], name=f"logits of token {n}")
    np.testing.assert_array_equal(past[0].n_seen, [4, 2])


def test_odd_layers_of_gpt3_forget_what_lies_before_their_window():
    _, past = gpt_step(TOKEN_IDS, params(GPT3), None, config=GPT3)
    _, past = gpt_step(TOKEN_IDS[:, :1], params(GPT3), past, config=GPT3)
    assert [layer.k.shape[2] for layer in past] == [5, 2]


@FAMILY
def test_a_cache_is_a_value(config):
    """Forked, reordered and rewound, while the old one still says what it said."""
    of_all = params(config, "head")
    _, past = gpt_step(TOKEN_IDS[:, :3], of_all, None, config=config)
    first, grown = gpt_step(TOKEN_IDS[:, 3:], of_all, past, config=config)
    again, _ = gpt_step(TOKEN_IDS[:, 3:], of_all, past, config=config)
    np.testing.assert_array_equal(again, first)
    swapped = tuple(reorder(layer, np.array([1, 0])) for layer in past)
    other, _ = gpt_step(TOKEN_IDS[::-1, 3:], of_all, swapped, config=config)
    sigma = run(gpt_lm, config, "head")[1]["y"][:, 3:]
    assert_close(other[::-1], first, sigma, name="logits of the other order")
    rewound = tuple(rewind(layer, 1) for layer in grown)
    assert_close(gpt_step(TOKEN_IDS[:, 3:], of_all, rewound, config=config)[0], first, sigma, name="logits again")


@FAMILY
def test_float32_stays_float32(config):
    narrow = {key: value.astype(np.float32) for key, value in params(config, "head").items()}
    logits, past = gpt_step(TOKEN_IDS, narrow, None, config=config)
    assert logits.dtype == past[0].k.dtype == past[1].v.dtype == np.float32


@pytest.mark.parametrize(
    ("token_ids", "change", "error", "message"),
    [
        (TOKEN_IDS + 1, {}, ValueError, r"ids must lie in \[0, 7\), got values from 1 to 7"),
        (TOKEN_IDS[0], {}, ValueError, r"token_ids must have shape \(any, any\), got \(4,\)"),
        (np.tile(TOKEN_IDS, 2), {}, ValueError, r"position_ids must lie in \[0, 5\)"),
        (TOKEN_IDS, {"mask": LEFT[:, 1:]}, ValueError, r"mask\.shape\[1\] must be at least 4, .* got 3"),
        (TOKEN_IDS, {"mask": LEFT[:1]}, ValueError, r"mask must have shape \(2, any\), got \(1, 4\)"),
        (TOKEN_IDS, {"mask": LEFT * 1.0}, TypeError, "mask must be a boolean array"),
        (TOKEN_IDS, {"past": ()}, ValueError, r"len\(past\) must be 2, one for each layer, got 0"),
        (TOKEN_IDS, {"config": None}, ValueError, "config must be a GptConfig"),
        (TOKEN_IDS, {"params": {"layer": np.ones(2)}}, ValueError, "params must have keys below .* got layer"),
    ],
)
def test_bad_input(token_ids, change, error, message):
    given = {"params": params(GPT2), "past": None, "config": GPT2} | change
    with pytest.raises(error, match=message):
        gpt_step(token_ids, given.pop("params"), given.pop("past"), **given)


def test_a_cache_of_another_batch():
    _, past = gpt_step(TOKEN_IDS[:1], params(GPT2), None, config=GPT2)
    with pytest.raises(ValueError, match="must have shape"):
        gpt_step(TOKEN_IDS, params(GPT2), past, config=GPT2)
