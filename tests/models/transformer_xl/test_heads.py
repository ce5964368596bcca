from dataclasses import replace

import numpy as np
import pytest

from refimpl.models.transformer_xl.heads import softmax_sources, transformer_xl_lm, transformer_xl_loss
from tests.models.transformer_xl.small import CONFIG, TOKEN_IDS, VARIANTS, no_memory, params

MEMORY = np.random.default_rng(1).standard_normal((2, 2, 3, 6))


@pytest.mark.parametrize("name", VARIANTS)
def test_probabilities_sum_to_1(name):
    config = VARIANTS[name]
    (log_probs, _), _ = transformer_xl_lm(TOKEN_IDS, MEMORY, params(config), config=config)
    assert log_probs.shape == (2, 10, 11)
    n_term = 11 + len(config.cutoffs)
    assert np.all(np.abs(np.exp(log_probs).sum(axis=-1) - 1.0) <= 8 * n_term * np.finfo(float).eps)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_loss_is_the_mean_of_the_log_probabilities_of_the_targets(name):
    config = VARIANTS[name]
    targets = np.where(TOKEN_IDS % 4 == 1, -100, np.roll(TOKEN_IDS, -1, axis=1))
    (log_probs, remembered), lm_pullback = transformer_xl_lm(TOKEN_IDS, MEMORY, params(config), config=config)
    (loss, same), loss_pullback = transformer_xl_loss(TOKEN_IDS, targets, MEMORY, params(config), config=config)
    np.testing.assert_array_equal(remembered, same)
    counted = targets != -100
    of_targets = np.take_along_axis(log_probs, np.where(counted, targets, 0)[..., None], axis=-1)[..., 0]
    want = -np.sum(of_targets * counted) / counted.sum()
    assert abs(loss - want) <= 64 * np.finfo(float).eps * abs(want)
    one_hot = (np.arange(11) == targets[..., None]) & counted[..., None]
    dmemory, dparams = loss_pullback((np.asarray(2.0), None))
    dmemory_lm, dparams_lm = lm_pullback((-2.0 * one_hot / counted.sum(), None))
    for key, gradient in {**dparams, "memory": dmemory}.items():
        other = {**dparams_lm, "memory": dmemory_lm}[key]
        assert np.max(np.abs(gradient - other)) <= 2**12 * np.finfo(float).eps * max(1.0, np.max(np.abs(other))), key


def test_without_targets_the_loss_is_0():
    targets = np.full_like(TOKEN_IDS, -100)
    (loss, _), pullback = transformer_xl_loss(TOKEN_IDS, targets, MEMORY, params(), config=CONFIG)
    assert loss == 0.0
    dmemory, dparams = pullback((np.asarray(1.0), None))
    assert not np.any(dmemory)
    assert not any(np.any(gradient) for gradient in dparams.values())


@pytest.mark.parametrize(
    ("name", "n_tied", "own"),
    [("divided", 2, ["softmax.projections.0.weight"]), ("shared", 2, ["softmax.projections.0.weight"]),
     ("plain", 0, []), ("pre_norm", 0, [f"softmax.projections.{i}.weight" for i in range(3)])],
)  # fmt: skip
def test_the_first_projection_is_never_tied(name, n_tied, own):
    """And with one table all others are the one of the embedding."""
    sources = softmax_sources(VARIANTS[name])
    projections = [source for key, source, _ in sources if key.startswith("projections.")]
    assert [source for source in projections if source.startswith("softmax.")] == own
    assert len([source for source in projections if source.startswith("embedding.")]) == n_tied


def test_bad_params():
    for change in ({"softmax.stray": MEMORY}, {"softmax.clusters.weigth": MEMORY}):
        with pytest.raises(ValueError, match="params must have the keys"):
            transformer_xl_lm(TOKEN_IDS, MEMORY, params() | change, config=CONFIG)
    missing = {key: x for key, x in params().items() if key != "softmax.clusters.bias"}
    with pytest.raises(ValueError, match=r"params must have the keys .*softmax\.clusters\.bias"):
        transformer_xl_loss(TOKEN_IDS, TOKEN_IDS, MEMORY, missing, config=CONFIG)


def test_bad_targets():
    with pytest.raises(ValueError, match=r"targets must lie in \[0, 11\), got values from 0 to 11"):
        transformer_xl_loss(TOKEN_IDS, np.where(TOKEN_IDS == 10, 11, TOKEN_IDS), MEMORY, params(), config=CONFIG)
    with pytest.raises(ValueError, match=r"targets must have shape \(2, 10\), got \(2, 9\)"):
        transformer_xl_loss(TOKEN_IDS, TOKEN_IDS[:, 1:], MEMORY, params(), config=CONFIG)
    with pytest.raises(ValueError, match="config must be a TransformerXLConfig"):
        transformer_xl_loss(TOKEN_IDS, TOKEN_IDS, MEMORY, params(), config=replace)


def test_a_memory_of_length_0_is_none_and_one_of_zeros_is_not():
    """`transformers` begins with zeros, to which every query attends."""
    config = VARIANTS["divided"]
    nothing, zeros = no_memory(config, 2), np.zeros((2, 2, 4, 6))
    (first, _), _ = transformer_xl_lm(TOKEN_IDS, nothing, params(config), config=config)
    (second, _), _ = transformer_xl_lm(TOKEN_IDS, zeros, params(config), config=config)
    assert np.all(np.any(first != second, axis=-1))
