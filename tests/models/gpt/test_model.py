from dataclasses import replace

import numpy as np
import pytest

from refimpl.arrays import scope
from refimpl.attention.mask import causal_mask
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.layers.layer_norm import layer_norm
from refimpl.models.gpt.model import gpt, gpt_embeddings, text_positions
from tests.models.gpt.small_gpt import GPT1, GPT2, GPT3, LEFT, RIGHT, TOKEN_IDS, params, run
from tests.properties.rounding import assert_close

FAMILY = pytest.mark.parametrize("config", [GPT1, GPT2, GPT3], ids=["gpt1", "gpt2", "gpt3"])


def test_embeddings_are_sums_of_two_rows():
    tables = {key: value for key, value in params(GPT2).items() if key in ("token.weight", "position.weight")}
    places = np.array([[4, 0, 0, 1], [3, 2, 2, 2]])
    y, pullback = gpt_embeddings(TOKEN_IDS, tables, position_ids=places)
    np.testing.assert_array_equal(y, tables["token.weight"][TOKEN_IDS] + tables["position.weight"][places])
    (dparams,) = pullback(np.ones_like(y))
    np.testing.assert_array_equal(dparams["position.weight"][:, 0], [2, 1, 3, 1, 1])
    np.testing.assert_array_equal(dparams["token.weight"][:, 0], [1, 1, 2, 1, 1, 1, 1])


@FAMILY
def test_states_begin_with_the_embeddings(config):
    states, _ = gpt(TOKEN_IDS, params(config), config=config)
    assert len(states) == config.n_layer + 1
    tables = params(config)
    np.testing.assert_array_equal(states[0], tables["token.weight"][TOKEN_IDS] + tables["position.weight"][:4])


def test_the_last_state_of_gpt2_is_behind_the_final_norm():
    of_all = params(GPT2)
    states, _ = gpt(TOKEN_IDS, of_all, config=GPT2)
    settings = {"n_head": 2, "activation": "gelu_tanh", "mask": causal_mask(4, 4, like=TOKEN_IDS)}
    last, _ = pre_norm_block(states[1], scope(of_all, "layers.1."), **settings)
    np.testing.assert_array_equal(states[2], layer_norm(last, scope(of_all, "norm."))[0])


def test_gpt1_has_no_final_norm():
    of_all = params(GPT1)
    states, _ = gpt(TOKEN_IDS, of_all, config=GPT1)
    settings = {"n_head": 2, "activation": "gelu_tanh", "mask": causal_mask(4, 4, like=TOKEN_IDS)}
    np.testing.assert_array_equal(states[2], post_norm_block(states[1], scope(of_all, "layers.1."), **settings)[0])
    with pytest.raises(ValueError, match=r"got norm\.bias, norm\.weight"):
        gpt(TOKEN_IDS, of_all | scope_of_norm(), config=GPT1)


def scope_of_norm():
    return {key: value for key, value in params(GPT2).items() if key.startswith("norm.")}


def test_positions_count_tokens_whichever_side_is_padded():
    np.testing.assert_array_equal(text_positions(TOKEN_IDS), [[0, 1, 2, 3]] * 2)
    np.testing.assert_array_equal(text_positions(TOKEN_IDS, mask=LEFT), [[0, 1, 2, 3], [0, 0, 0, 1]])
    np.testing.assert_array_equal(text_positions(TOKEN_IDS, mask=RIGHT), [[0, 1, 2, 3], [0, 1, 1, 1]])


@FAMILY
def test_given_positions_are_taken(config):
    counted, _ = gpt(TOKEN_IDS, params(config), config=config, mask=LEFT)
    places = text_positions(TOKEN_IDS, mask=LEFT)
    given, _ = gpt(TOKEN_IDS, params(config), config=config, mask=LEFT, position_ids=places)
    others, _ = gpt(TOKEN_IDS, params(config), config=config, mask=LEFT, position_ids=text_positions(TOKEN_IDS))
    np.testing.assert_array_equal(given[-1], counted[-1])
    assert np.all(others[-1][1, 2:] != counted[-1][1, 2:])


@pytest.mark.parametrize("window", [4, 9])
def test_a_window_as_wide_as_the_text_is_dense(window):
    dense, _ = run(gpt, GPT2)
    states, sigmas = run(gpt, replace(GPT3, window=window))
    for i, (state, want) in enumerate(zip(states, dense, strict=True)):
        assert_close(state, want, sigmas[f"y[{i}]"], name=f"state {i}")


def test_a_narrower_window_is_not():
    states, dense = (gpt(TOKEN_IDS, params(GPT2), config=config)[0] for config in (replace(GPT3, window=3), GPT2))
    np.testing.assert_array_equal(np.all(states[-1] != dense[-1], axis=-1), [[False, False, False, True]] * 2)


@FAMILY
def test_no_texts(config):
    states, pullback = gpt(np.zeros((0, 3), np.int64), params(config), config=config)
    assert states[-1].shape == (0, 3, 6)
    assert all(not np.any(gradient) for gradient in pullback(states)[0].values())


@FAMILY
def test_a_row_of_nothing_but_padding_is_finite(config):
    states, pullback = gpt(TOKEN_IDS, params(config), config=config, mask=np.array([[False] * 4, [True] * 4]))
    assert all(np.all(np.isfinite(state)) for state in states)
    assert all(np.all(np.isfinite(gradient)) for gradient in pullback(states)[0].values())


@FAMILY
@pytest.mark.parametrize(
    ("token_ids", "settings", "error", "message"),
    [
        (TOKEN_IDS + 1, {}, ValueError, r"ids must lie in \[0, 7\), got values from 1 to 7"),
        (TOKEN_IDS[0], {}, ValueError, r"token_ids must have shape \(any, any\), got \(4,\)"),
        (np.tile(TOKEN_IDS, 2), {}, ValueError, r"position_ids must lie in \[0, 5\), got values from 0 to 7"),
        (TOKEN_IDS * 1.0, {}, TypeError, "ids must be an integer array, got dtype float64"),
        (TOKEN_IDS.tolist(), {}, TypeError, "expected an array, got"),
        (TOKEN_IDS, {"mask": LEFT[:1]}, ValueError, r"mask must have shape \(2, 4\), got \(1, 4\)"),
        (TOKEN_IDS, {"mask": LEFT.astype(int)}, TypeError, "mask must be a boolean array"),
        (TOKEN_IDS, {"position_ids": TOKEN_IDS[:, :2]}, ValueError, r"position_ids must have shape \(2, 4\)"),
    ],
)
def test_bad_input(config, token_ids, settings, error, message):
    with pytest.raises(error, match=message):
        gpt(token_ids, params(config), config=config, **settings)


def test_a_configuration_of_another_kind():
    with pytest.raises(ValueError, match="config must be a GptConfig, got None"):
        gpt(TOKEN_IDS, params(GPT2), config=None)


@FAMILY
def test_bad_params(config):
    good = params(config)
    with pytest.raises(ValueError, match=r"params must have .*got .*head\.weight"):
        gpt(TOKEN_IDS, good | {"head.weight": good["token.weight"]}, config=config)
    with pytest.raises(ValueError, match="params must have the keys"):
        gpt(TOKEN_IDS, {key: value for key, value in good.items() if key != "position.weight"}, config=config)
    with pytest.raises(TypeError, match=r"position\.weight.* must have the dtype of .*, float64, got float32"):
        gpt(TOKEN_IDS, good | {"position.weight": good["position.weight"].astype(np.float32)}, config=config)
