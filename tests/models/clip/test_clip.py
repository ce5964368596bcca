from dataclasses import replace

import numpy as np
import pytest

from refimpl.arrays import scope
from refimpl.blocks.contrast import contrast
from refimpl.checkpoints.families.clip.names import clip_rows
from refimpl.models.clip.config import ClipConfig, TowerConfig
from refimpl.models.clip.image import clip_image
from refimpl.models.clip.model import clip
from refimpl.models.clip.text import clip_text, ends

TOWER = TowerConfig(d_model=6, n_head=2, n_layer=1, d_ff=5)
CONFIG = ClipConfig(TOWER, TOWER, vocab_size=7, n_position=5, image_size=4, patch_size=2, d_shared=3, eos_id=2)
RNG = np.random.default_rng(0)
PARAMS = {row.ours: np.asarray(RNG.standard_normal(row.our_shape)) for row in clip_rows(CONFIG)}
IMAGES, IDS = RNG.standard_normal((2, 3, 4, 4)), np.array([[3, 2, 5, 2], [4, 5, 6, 2]])


def test_the_first_end_stands_for_the_text():
    assert ends(IDS, eos_id=2).tolist() == [1, 3]
    assert ends(IDS, eos_id=None).tolist() == [2, 2]
    (*_, y), _ = clip_text(IDS, scope(PARAMS, "text."), config=CONFIG)
    (*_, other), _ = clip_text(np.array([[3, 2, 1, 1], [4, 5, 6, 2]]), scope(PARAMS, "text."), config=CONFIG)
    np.testing.assert_array_equal(y, other)


def test_every_pixel_has_a_gradient():
    y, pullback = clip_image(IMAGES, scope(PARAMS, "image."), config=CONFIG)
    dimages, dparams = pullback((None, None, y[-1]))
    assert np.all(dimages != 0.0)
    assert dparams["class"].shape == (6,)


def test_exchanging_images_and_texts_turns_the_logits(generator):
    a, b = generator.standard_normal((4, 3)), generator.standard_normal((4, 3))
    (loss, logits), _ = contrast(a, b, {"logit_scale": np.asarray(1.0)})
    (turned_loss, turned), _ = contrast(b, a, {"logit_scale": np.asarray(1.0)})
    assert abs(loss - turned_loss) < 2.0**-48
    assert np.abs(turned - logits.T).max() < 2.0**-48


def test_only_directions_count(generator):
    a, b = generator.standard_normal((4, 3)), generator.standard_normal((4, 3))
    params = {"logit_scale": np.asarray(1.0)}
    (loss, logits), pullback = contrast(a, b, params)
    da, _, _ = pullback((np.asarray(1.0), 0.0 * logits))
    assert np.abs(np.sum(da * a, axis=-1)).max() < 2.0**-48
    assert abs(contrast(8.0 * a, 0.25 * b, params)[0][0] - loss) < 2.0**-48


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": IMAGES[..., :2]}, r"images must have shape \(any, 3, 4, 4\), got \(2, 3, 4, 2\)"),
        ({"token_ids": IDS + 1}, r"token_ids must lie in \[0, 7\)"),
        ({"token_ids": np.tile(IDS, 2)}, "at most 5, the number of positions, got 8"),
        ({"token_ids": IDS[:1]}, r"b must have shape \(2, 3\), got \(1, 3\)"),
        ({"mask": IDS[:, :2] > 0}, r"mask must have shape \(2, 4\), got \(2, 2\)"),
    ],
)
def test_bad_input(changes, message):
    given = {"images": IMAGES, "token_ids": IDS} | changes
    with pytest.raises(ValueError, match=message):
        clip(given.pop("images"), given.pop("token_ids"), PARAMS, config=CONFIG, **given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(CONFIG, patch_size=3), "image_size must be a multiple of patch_size = 3, got 4"),
        (lambda: replace(CONFIG, eos_id=7), "eos_id must be below vocab_size = 7, got 7"),
        (lambda: replace(CONFIG, d_shared=0), "d_shared must be an integer of at least 1, got 0"),
        (lambda: replace(TOWER, n_head=4), "d_model must be a multiple of n_head = 4, got 6"),
        (lambda: replace(TOWER, activation="silu"), "activation must be one of quick_gelu, .*got 'silu'"),
        (lambda: replace(TOWER, norm_eps=-1.0), "norm_eps must be a positive finite number, got -1.0"),
    ],
)
def test_a_bad_configuration(make, message):
    with pytest.raises(ValueError, match=message):
        make()
