from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from compare import strategies
from refimpl.attention.mask import causal_mask
from refimpl.attention.sparse.alternating import alternating_attention
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from tests.properties import draw_models
from tests.properties.component import Call, cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, assert_close, spread_run

BLOCKS = pytest.mark.parametrize("block", [post_norm_block, pre_norm_block])
X = np.random.default_rng(0).standard_normal((2, 3, 6))
PARAMS = {
    key: np.random.default_rng(1).standard_normal(shape)
    for part in strategies.block_shapes(6, 5)
    for key, shape in part.items()
}


def torch_results(call, dy, *, norm_first):
    """Output and gradients of torch.nn.TransformerEncoderLayer with the same parameters."""
    x = torch.tensor(call.arrays["x"], requires_grad=True)
    n_batch, n_seq, d_model = x.shape
    n_head, mask = call.settings["n_head"], call.settings["mask"]
    layer = torch.nn.TransformerEncoderLayer(
        d_model,
        n_head,
        call.params["linear1.weight"].shape[0],
        dropout=0.0,
        activation={"gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh")}.get(
            call.settings["activation"], call.settings["activation"]
        ),
        layer_norm_eps=call.settings["eps"],
        batch_first=True,
        norm_first=norm_first,
        dtype=torch.float64,
    )
    absent = {key: torch.zeros_like(value) for key, value in layer.state_dict().items()}
    layer.load_state_dict(absent | {key: torch.tensor(value) for key, value in call.params.items()})
    if mask is not None:
        mask = np.broadcast_to(mask, (n_batch, n_head, n_seq, n_seq)).reshape(-1, n_seq, n_seq)
        mask = ~torch.tensor(mask.copy())
    y = layer(x, src_mask=mask)
    y.backward(torch.tensor(dy))
    gradients = {f"params.{key}": value.grad.numpy() for key, value in layer.named_parameters() if key in call.params}
    return {"y": y.detach().numpy(), "x": x.grad.numpy()} | gradients


@BLOCKS
def test_pytorch_agrees(block):
    component = component_of(block)

    @settings(max_examples=max(settings.get_profile(settings.get_current_profile_name()).max_examples // 2, 10))
    @given(component.calls)
    def check(call):
        mask = call.settings["mask"]
        # PyTorch gives NaN where a query sees nothing.
        call.settings.update(mask=None if mask is None else mask | ~np.any(mask, axis=-1, keepdims=True))
        y, gradients = component.run(call)
        want = torch_results(call, cotangents(y["y"], call.seed), norm_first=block is pre_norm_block)
        spreads = spread_run(component, call)
        assert_all_close(y | gradients, {name: want[name] for name in y | gradients}, spreads[0] | spreads[1])

    check()


@given(draw_models.block_calls())
@settings(max_examples=10)
def test_pytorch_tells_the_two_apart(call):
    """The comparison above would see one block in the place of the other."""
    call.settings.update(mask=None)
    component = component_of(post_norm_block)
    y, gradients = component.run(call)
    want = torch_results(call, cotangents(y["y"], call.seed), norm_first=True)
    spreads = spread_run(component, call)
    with pytest.raises(AssertionError):
        assert_all_close(y | gradients, {name: want[name] for name in y | gradients}, spreads[0] | spreads[1])


def test_the_residual_path_of_the_pre_norm_block_is_clear():
    """With second matrices of 0 nothing is added, and dy passes through unchanged."""
    silent = PARAMS | {key: 0.0 * PARAMS[key] for key in PARAMS if "out_proj" in key or "linear2" in key}
    y, pullback = pre_norm_block(X, silent, n_head=2)
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(pullback(X)[0], X)


@BLOCKS
def test_no_sequences_and_no_positions(block):
    for shape in [(0, 3, 6), (2, 0, 6)]:
        y, pullback = block(np.zeros(shape), PARAMS, n_head=2)
        assert y.shape == pullback(y)[0].shape == shape


@BLOCKS
@pytest.mark.parametrize(
    ("x", "params", "changed", "error", "message"),
    [
        (X[0], {}, {}, ValueError, r"must have shape \(any, any, any\), got \(3, 6\)"),
        (X, {}, {"n_head": 4}, ValueError, "n_head must be a divisor of d_model = 6, got 4"),
        (X, {}, {"activation": "swish"}, ValueError, "activation must be one of .*got 'swish'"),
        (X, {}, {"eps": -1.0}, ValueError, "eps must be at least 0, got -1.0"),
        (X, {}, {"mask": np.ones((3, 3))}, TypeError, "mask must be a boolean .*float64"),
        (X, {"norm3.weight": np.ones(6)}, {}, ValueError, r"params must have the keys .*norm3\.weight"),
        (X, {"norm1.weight": np.ones(5)}, {}, ValueError, r"weight must have shape \(6,\), got \(5,\)"),
        (X.astype(np.float32), {}, {}, TypeError, "dtype"),
    ],
)
def test_bad_input(block, x, params, changed, error, message):
    with pytest.raises(error, match=message):
        block(x, PARAMS | params, **{"n_head": 2} | changed)


@BLOCKS
@pytest.mark.parametrize("key", ["self_attn.in_proj_weight", "linear1.weight", "norm2.weight"])
def test_a_missing_parameter(block, key):
    with pytest.raises(ValueError, match=f"params must have the keys .*{key}"):
        block(X, {name: value for name, value in PARAMS.items() if name != key}, n_head=2)


@BLOCKS
def test_the_heads_may_attend_in_another_way(block):
    """A band as wide as the sequence is causal attention; a narrower one is not."""
    settings = {"n_head": 2, "activation": "gelu", "eps": 1e-5}
    call = Call({"x": X}, PARAMS, settings | {"mask": causal_mask(3, 3, like=X)})
    component = component_of(block)
    want, sigma = component(call)[0], spread_run(component, call)[0]["y"].sigma
    wide, _ = block(X, PARAMS, **settings, attend=partial(alternating_attention, layer=1, window=3))
    assert_close(wide, want, sigma, name="y")
    narrow, _ = block(X, PARAMS, **settings, attend=partial(alternating_attention, layer=1, window=2))
    np.testing.assert_array_equal(np.all(narrow != wide, axis=-1), [[False, False, True]] * 2)
