from dataclasses import replace

import numpy as np
import pytest

from refimpl.models.transformer_xl.heads import transformer_xl_lm
from refimpl.models.transformer_xl.step import reorder_memory, transformer_xl_step
from tests.models.transformer_xl.small import CONFIG, TOKEN_IDS, no_memory, params

LONG = replace(CONFIG, n_memory=10)
PARAMS = params()


@pytest.mark.parametrize("chunks", [(10,), (7, 1, 1, 1), (1, 4, 5), (1,) * 10])
def test_steps_give_what_the_whole_text_gives(chunks):
    (want, _), _ = transformer_xl_lm(TOKEN_IDS, no_memory(LONG, 2), PARAMS, config=LONG)
    memory, parts, start = None, [], 0
    for n in chunks:
        logits, memory = transformer_xl_step(TOKEN_IDS[:, start : start + n], PARAMS, memory, config=LONG)
        parts.append(logits)
        start += n
    got = np.concatenate(parts, axis=1)
    assert np.max(np.abs(got - want)) <= 2**10 * np.finfo(float).eps * np.max(np.abs(want))


def test_left_padding_never_matters():
    is_token = np.arange(10)[None, :] >= np.array([[0], [4]])
    alone, _ = transformer_xl_step(TOKEN_IDS[1:, 4:], PARAMS, None, config=LONG)
    logits, memory = transformer_xl_step(TOKEN_IDS[:, :8], PARAMS, None, config=LONG, mask=is_token[:, :8])
    more, _ = transformer_xl_step(TOKEN_IDS[:, 8:], PARAMS, memory, config=LONG, mask=is_token)
    got = np.concatenate([logits[1:, 4:], more[1:]], axis=1)
    assert np.max(np.abs(got - alone)) <= 2**10 * np.finfo(float).eps * np.max(np.abs(alone))


def test_a_mask_longer_than_the_memory_loses_its_beginning():
    _, memory = transformer_xl_step(TOKEN_IDS[:, :8], PARAMS, None, config=CONFIG)
    mask = np.ones((2, 9), bool)
    got, _ = transformer_xl_step(TOKEN_IDS[:, 8:9], PARAMS, memory, config=CONFIG, mask=mask)
    want, _ = transformer_xl_step(TOKEN_IDS[:, 8:9], PARAMS, memory, config=CONFIG)
    np.testing.assert_array_equal(got, want)


def test_rows_are_reordered():
    _, memory = transformer_xl_step(TOKEN_IDS[:, :5], PARAMS, None, config=LONG)
    rows = np.array([1, 1, 0])
    logits, _ = transformer_xl_step(TOKEN_IDS[[1, 1, 0], 5:6], PARAMS, reorder_memory(memory, rows), config=LONG)
    want, _ = transformer_xl_step(TOKEN_IDS[:, 5:6], PARAMS, memory, config=LONG)
    assert np.max(np.abs(logits - want[rows])) <= 2**10 * np.finfo(float).eps * np.max(np.abs(want))
    with pytest.raises(ValueError, match=r"rows must lie in \[0, 2\), got values from 2 to 2"):
        reorder_memory(memory, np.array([2]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"position_ids": TOKEN_IDS}, "position_ids must be None: only distances count"),
        ({"mask": np.ones((2, 9), bool)}, r"mask\.shape\[1\] must be at least 10, memory and new tokens, got 9"),
        ({"mask": np.ones((1, 10), bool)}, r"mask must have shape \(2, any\), got \(1, 10\)"),
        ({"config": None}, "config must be a TransformerXLConfig, got None"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        transformer_xl_step(TOKEN_IDS, PARAMS, None, **{"config": LONG, **settings})
