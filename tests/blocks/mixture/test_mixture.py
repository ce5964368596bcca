"""Mixtures of experts: what is refused, and who gets what where experts are full."""

import re

import numpy as np
import pytest

from compare.cases.mixture import shapes
from refimpl.blocks.mixture.dispatch import combine, dispatch, token_slots
from refimpl.blocks.mixture.expert_choice import expert_choice
from refimpl.blocks.mixture.expert_linear import expert_linear
from refimpl.blocks.mixture.largest import largest
from refimpl.blocks.mixture.layer import mixture_of_experts
from refimpl.blocks.mixture.losses import load_balance_loss, router_z_loss
from refimpl.blocks.mixture.noisy_logits import noisy_logits
from refimpl.blocks.mixture.routed_experts import routed_experts
from refimpl.blocks.mixture.router import router
from refimpl.blocks.mixture.shared_expert import shared_expert


def drawn(n_expert=3, d_model=4, **kinds):
    generator = np.random.default_rng(0)
    params = {key: generator.standard_normal(shape) for key, shape in shapes(n_expert, d_model, 5, **kinds).items()}
    return generator.standard_normal((2, 6, d_model)), params


def test_the_largest_are_chosen_and_of_equal_ones_the_first():
    x = np.array([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0], [-np.inf, -np.inf, 1.0, -np.inf]])
    assert largest(x, 2).tolist() == [
        [False, True, True, False], [True, True, False, False], [True, False, True, False],
    ]  # fmt: skip
    assert largest(x, 0).sum() == 0
    with pytest.raises(ValueError, match=r"n must be in \[0, 5\), got 5"):
        largest(x, 5)


def test_a_token_that_comes_too_late_is_dropped_and_has_no_gradient():
    x, params = drawn(n_expert=2)
    params["router.weight"] = np.zeros((2, 4))  # all logits are equal: the first expert has everybody
    settings = {"n_chosen": 1, "softmax_over": "all", "capacity": 4}
    (y, _), pullback = mixture_of_experts(x, None, params, **settings)
    dropped = np.all(y == 0.0, axis=-1)
    assert dropped.tolist() == [[False] * 4 + [True] * 2] * 2
    dx, dparams = pullback((np.ones_like(y), None))
    assert np.all(dx[dropped] == 0.0)
    assert np.all(dx[~dropped] != 0.0)
    for key in ("gate_proj", "up_proj", "down_proj"):
        assert np.all(dparams[f"experts.{key}.weight"][1] == 0.0), "an expert that nobody chose learns nothing"
        assert np.any(dparams[f"experts.{key}.weight"][0] != 0.0)


def test_noise_changes_the_choice_and_is_left_out_where_it_is_none():
    x, params = drawn(noisy=True)
    noise = np.random.default_rng(2).standard_normal((2, 6, 3))
    quiet, loud = (mixture_of_experts(x, drawn, params, n_chosen=2)[0] for drawn in (None, 9.0 * noise))
    assert np.any(largest(quiet[1], 2) != largest(loud[1], 2))
    np.testing.assert_array_equal(quiet[1], mixture_of_experts(x, 0.0 * noise, params, n_chosen=2)[0][1])
    _, pullback = mixture_of_experts(x, None, params, n_chosen=2)
    _, dparams = pullback((np.ones_like(x), None))
    assert dparams.keys() == params.keys()
    assert np.all(dparams["router.noise.weight"] == 0.0)


def test_what_is_in_an_empty_slot_means_nothing():
    ids, filled = token_slots(np.array([[[True, False], [True, False], [False, True]]]))
    assert filled[:, 0].tolist() == [[True, True], [True, False]]
    slots, _ = dispatch(np.arange(3.0).reshape(1, 3, 1), ids)
    slots[~filled.reshape(2, 2)] = np.nan
    weights = np.ones((1, 3, 2))
    y, pullback = combine(slots, weights, ids=ids, filled=filled)
    assert y[0, :, 0].tolist() == [0.0, 1.0, 2.0]
    dslots, dweights = pullback(np.ones_like(y))
    assert np.isfinite(dslots).all()
    assert dweights[0].tolist() == [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]


def test_experts_that_choose_are_all_full():
    x, params = drawn(n_expert=3)
    (y, logits), _ = expert_choice(x, params, capacity=6)
    weights = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    chosen = np.ones(logits.shape, dtype=bool)
    part = {key.removeprefix("experts."): value for key, value in params.items() if key.startswith("experts.")}
    want, _ = routed_experts(x, weights, part, chosen=chosen)
    largest_weight = np.abs(want).max() * np.finfo(np.float64).eps
    assert np.abs(y - want).max() <= 32 * largest_weight
    (nothing, _), _ = expert_choice(x, params, capacity=0)
    assert np.all(nothing == 0.0)


def test_even_use_has_the_least_loss_and_one_expert_for_all_the_largest():
    even = np.tile(np.eye(4), (3, 1)) * 60.0
    assert float(load_balance_loss(even, n_chosen=1)[0]) == 1.0
    assert float(load_balance_loss(np.tile([60.0, 0.0, 0.0, 0.0], (5, 1)), n_chosen=1)[0]) == 4.0
    is_token = np.array([True, False])
    huge = np.array([[0.0, 0.0], [np.nan, np.inf]])
    loss, pullback = router_z_loss(huge, is_token=is_token)
    assert float(loss) == np.log(2.0) * np.log(2.0)
    assert np.all(pullback(np.ones(()))[0][1] == 0.0)
    for loss_of in (lambda x: load_balance_loss(x, n_chosen=1), router_z_loss):
        loss, pullback = loss_of(np.zeros((0, 3)))
        assert (float(loss), pullback(np.ones(()))[0].shape) == (0.0, (0, 3))


X, PARAMS = drawn()
REFUSED = {
    "x must have shape (2, 6, 5), got (2, 6, 4)": lambda: mixture_of_experts(
        X, None, {**PARAMS, "router.weight": np.ones((3, 5))}, n_chosen=2
    ),
    "below router., experts., shared. only, got strange": lambda: mixture_of_experts(
        X, None, {**PARAMS, "strange": np.ones(1)}, n_chosen=2
    ),
    "n_chosen must be in": lambda: mixture_of_experts(X, None, PARAMS, n_chosen=4),
    "capacity must be at least 0, got -1": lambda: mixture_of_experts(X, None, PARAMS, n_chosen=2, capacity=-1),
    "capacity must be at most 6": lambda: expert_choice(X, PARAMS, capacity=7),
    "x must have shape": lambda: mixture_of_experts(X[0], None, PARAMS, n_chosen=2),
    "noise must have shape": lambda: noisy_logits(X, np.ones((2, 6, 2)), {"weight": np.ones((3, 4))}),
    "softmax_over must be one of all, chosen": lambda: router(
        X, None, {"weight": np.ones((3, 4))}, n_chosen=2, softmax_over="some"
    ),
    "weight must have shape": lambda: expert_linear(X, {"weight": np.ones((3, 4))}),
    "params must have the keys": lambda: shared_expert(X, {"network.gate_proj.weight": np.ones((3, 4))}),
    "is_token must have shape": lambda: router_z_loss(X, is_token=np.ones((2, 5), dtype=bool)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_input_is_refused_by_name(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        REFUSED[message]()


def test_wrong_dtypes_are_refused():
    with pytest.raises(TypeError, match="must have the dtype of x"):
        mixture_of_experts(X.astype(np.float32), None, PARAMS, n_chosen=2)
    with pytest.raises(TypeError, match="chosen must be a boolean array"):
        token_slots(np.ones((1, 2, 3)))
