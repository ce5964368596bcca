"""Decoder-only models: what is refused, what a cache is worth, and the parameters of published sizes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from compare.cases.decoder import draw_decoder
from compare.cases.llama import LLAMA
from compare.cases.mixtral import MIXTRAL
from refimpl.attention.cache.key_value import reorder
from refimpl.models.decoder.config import decoder_shapes
from refimpl.models.decoder.families import bloom_config, gpt_neox_config, llama_config, mixtral_config
from refimpl.models.decoder.lm import decoder_lm
from refimpl.models.decoder.model import decoder
from refimpl.models.decoder.parts import Rotary
from refimpl.models.decoder.step import decoder_step


def drawn(config, **kinds):
    generator = np.random.default_rng(5)
    return draw_decoder(generator, config=config, n_batch=3, n_seq=6, headed=True, **kinds)


@pytest.mark.parametrize(
    ("config", "n_billion"),
    [
        (llama_config(vocab_size=32000, d_model=4096, n_layer=32, n_head=32, d_ff=11008), 6.74),
        (llama_config(vocab_size=128256, d_model=4096, n_layer=32, n_head=32, n_kv_head=8, d_ff=14336), 8.03),
        (
            mixtral_config(
                vocab_size=32000, d_model=4096, n_layer=32, n_head=32, n_kv_head=8, d_ff=14336, n_expert=8, n_chosen=2
            ),
            46.70,
        ),
        (gpt_neox_config(vocab_size=50432, d_model=6144, n_layer=44, n_head=64, d_ff=24576, d_rotary=24), 20.55),
        (bloom_config(vocab_size=250880, d_model=14336, n_layer=70, n_head=112), 176.25),
    ],
    ids=["Llama 7B", "Llama 3 8B", "Mixtral 8x7B", "GPT-NeoX-20B", "Bloom"],
)
def test_published_sizes_have_as_many_parameters_as_published(config, n_billion):
    assert round(sum(math.prod(shape) for shape in decoder_shapes(config).values()) / 1e9, 2) == n_billion


def test_a_beam_goes_on_from_any_past():
    token_ids, params = drawn(LLAMA).args
    _, past = decoder_step(token_ids[:, :4], params, None, config=LLAMA)
    rows = np.array([2, 0, 2])
    moved = tuple(reorder(layer, rows) for layer in past)
    got, _ = decoder_step(token_ids[:, 4:5], params, moved, config=LLAMA)
    whole = np.concatenate([token_ids[rows, :4], token_ids[:, 4:5]], axis=1)
    _, same = decoder_step(whole[:, :4], params, None, config=LLAMA)
    want, _ = decoder_step(whole[:, 4:], params, same, config=LLAMA)
    np.testing.assert_array_equal(got, want)


def test_positions_may_be_given():
    token_ids, params = drawn(replace(LLAMA, positions=Rotary(30.0))).args
    config = replace(LLAMA, positions=Rotary(30.0))
    counted = np.arange(6)
    default, _ = decoder_lm(token_ids, params, config=config)
    given, _ = decoder_lm(token_ids, params, config=config, position_ids=counted)
    np.testing.assert_array_equal(given[0], default[0])
    spaced, _ = decoder_lm(token_ids, params, config=config, position_ids=2 * counted)
    assert np.all(np.any(spaced[0] != default[0], axis=-1)[:, 1:])


def test_states_without_dy_count_as_0_and_so_do_routers():
    token_ids, params = drawn(MIXTRAL).args
    backbone = {key: x for key, x in params.items() if key != "head.weight"}
    y, pullback = decoder(token_ids, backbone, config=MIXTRAL)
    dy = [np.zeros_like(part) for part in y]
    dy[2] = np.ones_like(y[2])
    (want,) = pullback(tuple(dy))
    (got,) = pullback((None, None, dy[2], None, None))
    for key, gradient in want.items():
        np.testing.assert_array_equal(got[key], gradient, err_msg=key)


def test_bad_input_is_refused_by_name():
    token_ids, params = drawn(LLAMA).args
    without = {key: x for key, x in params.items() if key != "norm.weight"}
    with pytest.raises(ValueError, match=r"params must have the keys .*norm\.weight"):
        decoder_lm(token_ids, without, config=LLAMA)
    with pytest.raises(ValueError, match=r"mask must have shape \(3, 6\), got \(3, 5\)"):
        decoder_lm(token_ids, params, config=LLAMA, mask=np.ones((3, 5), dtype=bool))
    with pytest.raises(TypeError, match="mask must be a boolean array"):
        decoder_lm(token_ids, params, config=LLAMA, mask=np.ones((3, 6)))
    with pytest.raises(ValueError, match="must lie in"):
        decoder_lm(token_ids + 100, params, config=LLAMA)
    with pytest.raises(ValueError, match="config must be a DecoderConfig"):
        decoder(token_ids, params, config={})
    with pytest.raises(ValueError, match=r"len\(past\) must be 2, one for each layer, got 1"):
        decoder_step(token_ids, params, (None,), config=LLAMA)
    with pytest.raises(ValueError, match=r"mask.shape\[1\] must be at least 6"):
        decoder_step(token_ids, params, None, config=LLAMA, mask=np.ones((3, 4), dtype=bool))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_head": 3}, "n_head must be a multiple of n_kv_head = 2, got 3"),
        ({"d_model": 0}, "d_model must be at least 1, got 0"),
        ({"feeds": ()}, "feeds must be a tuple, one for each layer"),
        ({"biased": ("r_proj",)}, "biased must be some of q_proj, k_proj, v_proj, o_proj"),
        ({"fused": True, "biased": ("q_proj",)}, "biased must be all of q, k and v or none"),
        ({"window": 0}, "window must be at least 1, got 0"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(LLAMA, **change)
