from dataclasses import replace

import numpy as np
import pytest

from compare.cases.flamingo import SMALL, flamingo_params
from refimpl.models.flamingo.model import flamingo, last_shown

RNG = np.random.default_rng(0)
PARAMS = flamingo_params(RNG, SMALL)
IDS = np.array([[5, 3, 4, 6, 3, 7]])
FEATURES = RNG.standard_normal((1, 2, 1, 4, SMALL.d_visual))


def test_a_token_looks_at_the_image_shown_last():
    looks = last_shown(IDS, SMALL, n_image=2)[0, 0]
    assert [np.flatnonzero(row).tolist() for row in looks] == [[], *[[0, 1, 2]] * 3, *[[3, 4, 5]] * 2]


def test_tokens_before_an_image_do_not_see_it():
    *_, logits = flamingo(FEATURES, IDS, PARAMS, config=SMALL)[0]
    changed = np.concatenate([FEATURES[:, :1], 2.0 * FEATURES[:, 1:] + 1.0], axis=1)
    *_, others = flamingo(changed, IDS, PARAMS, config=SMALL)[0]
    np.testing.assert_array_equal(others[:, :4], logits[:, :4])
    assert np.all(np.any(others[:, 4:] != logits[:, 4:], axis=-1))


def test_with_gates_shut_it_is_the_language_model():
    shut = {key: 0.0 * x if key.endswith("gate") else x for key, x in PARAMS.items()}
    (_, *states, _), pullback = flamingo(FEATURES, IDS, shut, config=SMALL)
    (_, *others, _), _ = flamingo(-3.0 * FEATURES, IDS, shut, config=SMALL)
    np.testing.assert_array_equal(states, others)
    dfeatures, dparams = pullback((None, *[None] * len(states), np.ones((1, 6, SMALL.vocab_size))))
    assert not np.any(dfeatures)
    assert any(np.any(x) for key, x in dparams.items() if key.endswith("gate"))


def test_the_order_of_patches_means_nothing():
    """The resampler adds no positions to patches."""
    *_, logits = flamingo(FEATURES, IDS, PARAMS, config=SMALL)[0]
    *_, others = flamingo(FEATURES[:, :, :, ::-1], IDS, PARAMS, config=SMALL)[0]
    assert np.abs(others - logits).max() < 2.0**-40


@pytest.mark.parametrize(
    ("features", "ids", "message"),
    [
        (FEATURES[:, :1], IDS, "token_ids must be texts that show 1 images at most, got 2"),
        (FEATURES[..., :3], IDS, r"features must have shape \(1, any, any, any, 8\)"),
        (FEATURES, IDS + 5, r"token_ids must lie in \[0, 11\)"),
        (np.tile(FEATURES, (1, 1, 3, 1, 1)), IDS, "at most 2, the number of positions, got 3"),
        (FEATURES, np.tile(IDS[:, 2:4], 5), "at most 9, the number of positions, got 10"),
    ],
)
def test_bad_input(features, ids, message):
    with pytest.raises(ValueError, match=message):
        flamingo(features, ids, PARAMS, config=SMALL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_visual": 6}, "d_visual must be a multiple of n_visual_head = 4, got 6"),
        ({"image_id": 11}, "image_id must be below vocab_size = 11, got 11"),
        ({"every": 0}, "every must be an integer of at least 1, got 0"),
        ({"norm_eps": 0.0}, "norm_eps must be a positive finite number, got 0.0"),
    ],
)
def test_a_bad_configuration(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)
