"""PyTorch behind the interface of a component."""

import ml_dtypes
import numpy as np
import pytest
import torch

from compare.peers.torch_peer import TorchPeer, call_module, meta_module


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_lift_and_lower_are_exact(dtype):
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(dtype)
    peer = TorchPeer(lambda x: x)
    tensor = peer.lift(x.astype(np.float64), dtype)
    assert tensor.requires_grad
    assert peer.lower(tensor).dtype == np.dtype(dtype)
    assert peer.lower(tensor).tobytes() == x.tobytes()


def test_integers_and_booleans_are_left_alone():
    peer = TorchPeer(lambda x: x)
    assert peer.lift(np.array([1, 2]), np.float32).dtype == torch.int64
    assert peer.lift(np.array([True]), np.float32).dtype == torch.bool


def test_gradients_come_in_the_order_of_the_contract():
    peer = TorchPeer(lambda x, ids, params: x * params["a"] + params["b"][ids])
    args = (
        peer.lift(np.array([2.0, 3.0]), np.float64),
        peer.lift(np.array([0, 0]), np.float64),
        {key: peer.lift(np.array([value]), np.float64) for key, value in {"a": 5.0, "b": 7.0, "unused": 1.0}.items()},
    )
    y, pullback = peer.run(args, {}, {})
    dx, dparams = pullback(torch.tensor([1.0, 10.0], dtype=torch.float64))
    assert y.tolist() == [17.0, 22.0]
    assert dx.tolist() == [5.0, 50.0]
    assert {key: value.item() for key, value in dparams.items()} == {"a": 32.0, "b": 11.0, "unused": 0.0}


def test_several_outputs_take_several_cotangents():
    peer = TorchPeer(lambda x: (2 * x, 3 * x))
    x = peer.lift(np.array([1.0]), np.float64)
    _, pullback = peer.run((x,), {}, {})
    ones = torch.ones(1, dtype=torch.float64)
    assert pullback((ones, 10 * ones))[0].item() == 32.0


def test_a_meta_module_holds_no_numbers_and_takes_ours():
    module = meta_module(torch.nn.Linear, 2, 1)
    assert module is meta_module(torch.nn.Linear, 2, 1)
    params = {"weight": torch.tensor([[2.0, 3.0]]), "bias": torch.tensor([1.0])}
    assert call_module(module, params, torch.tensor([[1.0, 1.0]])).item() == 6.0
    with pytest.raises(RuntimeError):
        call_module(module, {"weight": params["weight"]}, torch.ones(1, 2))


def test_overlap_sees_views():
    peer = TorchPeer(lambda x: x)
    x = torch.arange(4.0)
    assert peer.overlap(x, x[1:])
    assert not peer.overlap(x, x.clone())
