"""What an implementation does beside computing is watched, too."""

import numpy as np
import pytest
import torch

from compare.cases.bug import BEHAVIOURS
from compare.cases.registry import all_cases
from compare.measure.evaluate import evaluate
from compare.measure.truth import DTYPES, find_truth
from compare.peers.arrays import ArrayPeer
from compare.peers.torch_peer import TorchPeer


def evaluated(peer, case, config="rank2", dtype="float32"):
    config = case.config_named(config)
    truth = find_truth(case, config, dtype, seed=0)
    found = evaluate(peer, case, truth.inputs, config.settings, DTYPES[dtype], truth.cotangents, truth.names)
    return truth, found


def test_results_are_named_like_the_truth():
    case = all_cases()["layer_norm"]
    for peer in (ArrayPeer(case.reference), TorchPeer(case.peers["torch"])):
        truth, found = evaluated(peer, case)
        assert list(found.outputs) == list(truth.outputs) == ["y"]
        assert list(found.gradients) == list(truth.gradients) == ["x", "params.weight", "params.bias"]
        assert found.misbehaviour == ""
        assert found.seconds > 0


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("mutated input", "changed one of its inputs"),
        ("depends on the call count", "another result when called a second time"),
        ("stale buffer", "overwrote what it had returned before"),
        ("stale gradient", "another result when called a second time"),
        ("aliased gradient", "memory that belongs to one of its inputs"),
    ],
)
def test_misbehaviour_is_named(behaviour, words):
    case = all_cases()["relu"]
    _, found = evaluated(ArrayPeer(BEHAVIOURS[behaviour](case.reference)), case)
    assert words in found.misbehaviour


def test_a_result_of_other_inputs_is_not_taken_for_that_of_these():
    case = all_cases()["relu"]
    truth, found = evaluated(ArrayPeer(BEHAVIOURS["remembers the first call"](case.reference)), case)
    assert not np.array_equal(found.outputs["y"], truth.outputs["y"].value)


def test_a_cotangent_that_is_written_into_is_noticed():
    class Wiping(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return torch.relu(x)

        @staticmethod
        def backward(context, dy):
            dx = dy * 1.0
            dy.zero_()
            return dx

    _, found = evaluated(TorchPeer(Wiping.apply), all_cases()["relu"])
    assert "changed one of its inputs" in found.misbehaviour


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda y, dx, dparams: ((y, y), (dx, dparams)), "returned 2 outputs instead of 1"),
        (lambda y, dx, dparams: (y, (dx, dparams, dx)), "returned 3 gradients instead of 2"),
        (lambda y, dx, dparams: (y, (dx, dparams | {"scale": dx})), "the gradient of scale, which is no parameter"),
    ],
)
def test_more_than_was_asked_for_is_noticed(spoil, words):
    case = all_cases()["layer_norm"]

    def generous(x, params, *, eps=1e-5):
        y, pullback = case.reference(x, params, eps=eps)
        spoilt, _ = spoil(y, None, {})
        return spoilt, lambda dy: spoil(y, *pullback(dy[0] if isinstance(dy, tuple) else dy))[1]

    _, found = evaluated(ArrayPeer(generous), case)
    assert words in found.misbehaviour


def test_torch_misbehaviour_is_named_too():
    case = all_cases()["relu"]

    def inplace(x):
        with np.errstate(all="ignore"):
            x.data.mul_(2)
        return x.clone()

    _, found = evaluated(TorchPeer(inplace), case)
    assert "changed one of its inputs" in found.misbehaviour
    _, found = evaluated(TorchPeer(lambda x: x.view(x.shape)), case)
    assert "memory that belongs" in found.misbehaviour


def test_gradients_in_another_key_order_are_matched_by_key():
    case = all_cases()["layer_norm"]

    def reordered(x, params, *, eps=1e-5):
        y, pullback = case.reference(x, params, eps=eps)
        return y, lambda dy: (pullback(dy)[0], dict(reversed(pullback(dy)[1].items())))

    truth, found = evaluated(ArrayPeer(reordered), case)
    assert found.gradients["params.bias"].shape == truth.gradients["params.bias"].shape
    _, reference = evaluated(ArrayPeer(case.reference), case)
    assert found.gradients["params.bias"].tobytes() == reference.gradients["params.bias"].tobytes()


def test_a_missing_key_is_a_missing_gradient():
    case = all_cases()["layer_norm"]

    def forgetful(x, params, *, eps=1e-5):
        y, pullback = case.reference(x, params, eps=eps)
        return y, lambda dy: (pullback(dy)[0], {"weight": pullback(dy)[1]["weight"]})

    _, found = evaluated(ArrayPeer(forgetful), case)
    assert found.gradients["params.bias"] is None


def test_inputs_arrive_read_only():
    x = ArrayPeer(lambda x: x).lift(np.ones(3), np.float32)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 2
