from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from compare.interpretations.spread import spread
from refimpl.models.transformer_xl.model import transformer_xl
from tests.models.transformer_xl.small import CONFIG, TOKEN_IDS, VARIANTS, no_memory, params

BACKBONE = params(groups=("backbone",))
EMPTY = no_memory(CONFIG, 2)


def read(token_ids, memory, backbone, config):
    *states, remembered = transformer_xl(token_ids, memory, backbone, config=config)[0]
    return states, remembered


@pytest.mark.parametrize("name", ["divided", "shared", "plain", "pre_norm"])
@pytest.mark.parametrize("n_segment", [1, 3, 4, 7])
def test_a_long_text_reads_as_with_full_context_where_the_memory_covers_it(name, n_segment):
    """Segments shorter and longer than half of the text; the memory covers all that came before."""
    config = replace(VARIANTS[name], n_memory=TOKEN_IDS.shape[1])
    backbone = params(config, ("backbone",))
    whole, _ = read(TOKEN_IDS, no_memory(config, 2), backbone, config)
    sigma = sigma_of_the_last_state(config, backbone)
    memory, parts = no_memory(config, 2), []
    for start in range(0, TOKEN_IDS.shape[1], n_segment):
        states, memory = read(TOKEN_IDS[:, start : start + n_segment], memory, backbone, config)
        parts.append(states[-1])
    assert np.all(np.abs(np.concatenate(parts, axis=1) - whole[-1]) <= 10.0 * sigma)


def test_a_memory_that_is_too_short_is_told_from_full_context():
    whole, _ = read(TOKEN_IDS, EMPTY, BACKBONE, CONFIG)
    memory = EMPTY
    for start in (0, 5):
        states, memory = read(TOKEN_IDS[:, start : start + 5], memory, BACKBONE, CONFIG)
    sigma = sigma_of_the_last_state(CONFIG, BACKBONE)
    assert np.all(np.max(np.abs(states[-1] - whole[-1][:, 5:]) / sigma[:, 5:], axis=-1) > 1e6)


def sigma_of_the_last_state(config, backbone):
    lift = partial(spread, dtype=np.dtype(np.float64))
    lifted = {key: lift(x) for key, x in backbone.items()}
    *_, last, _ = transformer_xl(lift(TOKEN_IDS), lift(no_memory(config, 2)), lifted, config=config)[0]
    return last.sigma


@pytest.mark.parametrize(("n_before", "n_seq", "kept"), [(0, 3, 3), (3, 1, 4), (4, 3, 4), (2, 9, 4)])
def test_the_memory_keeps_the_last_inputs_of_every_block(n_before, n_seq, kept):
    memory = np.random.default_rng(0).standard_normal((2, 2, n_before, 6))
    states, remembered = read(TOKEN_IDS[:, :n_seq], memory, BACKBONE, CONFIG)
    everything = np.concatenate([memory, np.stack(states[:-1])], axis=2)
    np.testing.assert_array_equal(remembered, everything[:, :, -kept:])


def test_nothing_is_remembered_where_nothing_may_be():
    config = replace(CONFIG, n_memory=0)
    (*_, remembered), pullback = transformer_xl(TOKEN_IDS, EMPTY, BACKBONE, config=config)
    assert remembered.shape == (2, 2, 0, 6)
    dmemory, _ = pullback((None, None, np.ones((2, 10, 6)), None))
    assert dmemory.shape == (2, 2, 0, 6)


def test_every_query_sees_as_many_keys_as_the_memory_has_places():
    """With one block: what lies n_memory positions back is out of sight, what lies nearer is not."""
    config = replace(CONFIG, same_length=True, n_layer=1, n_memory=3)
    backbone = params(config, ("backbone",))
    memory = np.random.default_rng(0).standard_normal((1, 2, 5, 6))
    before, _ = read(TOKEN_IDS, memory, backbone, config)
    for place in range(5):
        changed = np.where((np.arange(5) == place)[:, None], 9.0, memory)
        after, _ = read(TOKEN_IDS, changed, backbone, config)
        moved = np.any(before[-1] != after[-1], axis=(0, 2))
        # Query i stands at 5 + i and sees itself and the two before it.
        assert moved.tolist() == [5 + i - place < 3 for i in range(10)]


def test_far_distances_count_as_the_limit():
    """Two tokens beyond the limit may change places, for position and content of both are the same to every query."""
    config = replace(CONFIG, clamp_len=2, n_layer=1)
    backbone = params(config, ("backbone",))
    swapped = TOKEN_IDS[:, [1, 0, *range(2, 10)]]
    same, other = (read(ids, no_memory(config, 2), backbone, config)[0][-1] for ids in (TOKEN_IDS, swapped))
    sigma = sigma_of_the_last_state(config, backbone)
    assert np.all(np.abs(same - other)[:, 5:] <= 10.0 * sigma[:, 5:])
    assert np.any(np.abs(same - other)[:, 2] > 1e6 * sigma[:, 2])


def test_tokens_that_are_masked_never_matter():
    """Padding before the text, as batches are made for generation: only distances count, so nothing else is to do."""
    is_token = np.arange(10)[None, :] >= np.array([[0], [4]])
    mask = is_token[:, None, None, :]
    alone, _ = read(TOKEN_IDS[1:, 4:], EMPTY[:, 1:], BACKBONE, CONFIG)
    sigma = sigma_of_the_last_state(CONFIG, BACKBONE)
    for noise in (0, 5):
        padded = np.where(is_token, TOKEN_IDS, noise)
        *states, _ = transformer_xl(padded, EMPTY, BACKBONE, config=CONFIG, mask=mask)[0]
        assert np.all(np.abs(states[-1][1:, 4:] - alone[-1]) <= 10.0 * sigma[1:, 4:])


def test_states_without_dy_count_as_0():
    (*states, remembered), pullback = transformer_xl(TOKEN_IDS, EMPTY, BACKBONE, config=CONFIG)
    dlast = np.random.default_rng(0).standard_normal(states[-1].shape)
    zeros = [np.zeros_like(state) for state in states[:-1]]
    want = pullback((*zeros, dlast, np.zeros_like(remembered)))
    got = pullback((None, None, dlast, None))
    np.testing.assert_array_equal(got[0], want[0])
    for key in BACKBONE:
        np.testing.assert_array_equal(got[1][key], want[1][key], err_msg=key)


@pytest.mark.parametrize(
    ("token_ids", "memory", "error", "message"),
    [
        (TOKEN_IDS + 1, EMPTY, ValueError, r"ids must lie in \[0, 11\), got values from 1 to 11"),
        (TOKEN_IDS[0], EMPTY, ValueError, r"token_ids must have shape \(any, any\), got \(10,\)"),
        (TOKEN_IDS, EMPTY[:1], ValueError, r"memory must have shape \(2, 2, any, 6\), got \(1, 2, 0, 6\)"),
        (TOKEN_IDS, EMPTY[:, :1], ValueError, r"memory must have shape \(2, 2, any, 6\), got \(2, 1, 0, 6\)"),
        (TOKEN_IDS, EMPTY.astype(np.float32), TypeError, "params.* must have the dtype of memory, float32"),
        (TOKEN_IDS, None, TypeError, "memory must be an array, got NoneType"),
    ],
)
def test_bad_arrays(token_ids, memory, error, message):
    with pytest.raises(error, match=message):
        transformer_xl(token_ids, memory, BACKBONE, config=CONFIG)


def test_bad_params_and_config():
    with pytest.raises(ValueError, match=r"params must have keys below .* only, got softmax\.x"):
        transformer_xl(TOKEN_IDS, EMPTY, BACKBONE | {"softmax.x": EMPTY}, config=CONFIG)
    missing = {key: x for key, x in BACKBONE.items() if "layers.1" not in key}
    with pytest.raises(ValueError, match="params must have the keys"):
        transformer_xl(TOKEN_IDS, EMPTY, missing, config=CONFIG)
    with pytest.raises(ValueError, match="config must be a TransformerXLConfig, got None"):
        transformer_xl(TOKEN_IDS, EMPTY, BACKBONE, config=None)
