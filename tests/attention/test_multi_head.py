import numpy as np
import pytest
import torch
from hypothesis import given

from refimpl.attention.multi_head import cross_attention, multi_head_attention, self_attention
from tests.properties import draw_attention
from tests.properties.component import cotangents
from tests.properties.registry import component_of
from tests.properties.rounding import assert_all_close, spread_run

D_MODEL = 6
X = np.random.default_rng(1).standard_normal((2, 3, D_MODEL))
PARAMS = {
    "in_proj_weight": np.random.default_rng(2).standard_normal((3 * D_MODEL, D_MODEL)),
    "out_proj.weight": np.random.default_rng(3).standard_normal((D_MODEL, D_MODEL)),
    "out_proj.bias": np.arange(6.0),
}
SEPARATE_KEYS = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
SEPARATE = {
    **dict(zip(SEPARATE_KEYS, np.split(PARAMS["in_proj_weight"], 3), strict=True)),
    **{key: PARAMS[key] for key in ("out_proj.weight", "out_proj.bias")},
}


def test_one_head_of_identities_is_attention():
    """With identity projections and a query of zeros, the mean of the values."""
    params = {"in_proj_weight": np.concatenate([np.eye(2)] * 3), "out_proj.weight": np.eye(2)}
    memory = np.array([[[1.0, 10.0], [3.0, 30.0]]])
    y, _ = cross_attention(np.zeros((1, 1, 2)), memory, params, n_head=1)
    np.testing.assert_array_equal(y, [[[2, 20]]])


def test_heads_are_slices_of_the_features():
    """Two heads: the first looks at feature 0 and gathers feature 0."""
    params = {"in_proj_weight": np.concatenate([np.eye(2)] * 3), "out_proj.weight": np.eye(2)}
    q = np.array([[[1e3, 1e3]]])
    memory = np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    y, _ = multi_head_attention(q, memory, memory, params, n_head=2)
    np.testing.assert_array_equal(y, [[[1, 1]]])


@given(draw_attention.self_attention_calls())
def test_pytorch_agrees(call):
    component = component_of(self_attention)
    call.settings.update(keep=None)
    x = torch.tensor(call.arrays["x"], requires_grad=True)
    n_head, mask, d_model = call.settings["n_head"], call.settings["mask"], x.shape[-1]
    # PyTorch gives NaN where a query sees nothing.
    mask = None if mask is None else mask | ~np.any(mask, axis=-1, keepdims=True)
    call.settings.update(mask=mask)
    layer = torch.nn.MultiheadAttention(d_model, n_head, bias=True, batch_first=True, dtype=torch.float64)
    zeros = {"in_proj_bias": np.zeros(3 * d_model), "out_proj.bias": np.zeros(d_model)}
    layer.load_state_dict({key: torch.tensor(value) for key, value in (zeros | call.params).items()})
    full = None
    if mask is not None:
        n_batch, n_seq, _ = x.shape
        full = ~torch.tensor(np.broadcast_to(mask, (n_batch, n_head, n_seq, n_seq)).reshape(-1, n_seq, n_seq).copy())
    y, _ = layer(x, x, x, attn_mask=full, need_weights=False)
    got_y, got = component.run(call)
    y.backward(torch.tensor(cotangents(got_y["y"], call.seed)))
    want = {"y": y.detach().numpy(), "x": x.grad.numpy()}
    want |= {f"params.{key}": value.grad.numpy() for key, value in layer.named_parameters() if key in call.params}
    spreads = spread_run(component, call)
    results = got_y | got
    assert_all_close(results, {name: want[name] for name in results}, spreads[0] | spreads[1])


def test_separate_projections_are_the_fused_one_cut_in_three():
    fused, fused_pullback = self_attention(X, PARAMS, n_head=2)
    separate, separate_pullback = self_attention(X, SEPARATE, n_head=2)
    np.testing.assert_array_equal(separate, fused)
    _, dfused = fused_pullback(X)
    _, dseparate = separate_pullback(X)
    parts = [dseparate[key] for key in SEPARATE_KEYS]
    np.testing.assert_array_equal(np.concatenate(parts), dfused["in_proj_weight"])


def test_where_nothing_is_seen_the_output_bias_is_left():
    y, pullback = self_attention(X, PARAMS, n_head=2, mask=np.zeros((3, 3), bool))
    np.testing.assert_array_equal(y, np.broadcast_to(PARAMS["out_proj.bias"], y.shape))
    dx, dparams = pullback(np.ones(y.shape))
    np.testing.assert_array_equal(dx, 0.0)
    np.testing.assert_array_equal(dparams["in_proj_weight"], 0.0)


def test_no_keys():
    y, pullback = cross_attention(X, X[:, :0], PARAMS, n_head=3)
    np.testing.assert_array_equal(y, np.broadcast_to(PARAMS["out_proj.bias"], y.shape))
    dx, dmemory, _ = pullback(y)
    np.testing.assert_array_equal(dx, 0.0)
    assert dmemory.shape == (2, 0, D_MODEL)


@pytest.mark.parametrize(
    ("x", "params", "settings", "error", "message"),
    [
        (X, PARAMS, {"n_head": 4}, ValueError, "n_head must be a divisor of d_model = 6, got 4"),
        (X, PARAMS, {"n_head": 0}, ValueError, "n_head must be a divisor of d_model = 6, got 0"),
        (X, PARAMS, {"n_head": -2}, ValueError, "n_head must be a divisor of d_model = 6, got -2"),
        (X[0], PARAMS, {}, ValueError, r"q must have shape \(any, any, any\), got \(3, 6\)"),
        (X[..., :4], PARAMS, {}, ValueError, r"in_proj_weight must have shape \(12, 4\), got \(18, 6\)"),
        (X, PARAMS | {"in_proj_bias": np.ones(6)}, {}, ValueError, r"in_proj_bias must have shape \(18,\), got \(6,\)"),
        (X, SEPARATE | {"k_proj_weight": np.ones((6, 5))}, {}, ValueError, r"k_proj_weight must have shape \(6, 6\)"),
        (X, PARAMS | {"q_proj_weight": np.ones((6, 6))}, {}, ValueError, "params must have the keys .*q_proj_weight"),
        (X, {"out_proj.weight": np.eye(6)}, {}, ValueError, "params must have the keys .*k_proj_weight"),
        (X, PARAMS, {"mask": np.ones((3, 3))}, TypeError, "mask must be a boolean .*float64.*bias"),
        (X, PARAMS, {"mask": np.ones((2, 3, 3), bool)}, ValueError, "mask must be an array of 2 or 4 axes, got"),
        (X, PARAMS, {"mask": np.ones((4, 3), bool)}, ValueError, r"must broadcast to \(2, 2, 3, 3\), got \(4, 3\)"),
        (X, PARAMS, {"mask": np.ones((2, 1, 1, 5), bool)}, ValueError, "mask must broadcast to .*got"),
        (X, PARAMS, {"keep": np.ones((3, 3), bool)}, ValueError, r"keep must have shape \(2, 2, 3, 3\), got \(3, 3\)"),
        (X.astype(np.float32), PARAMS, {}, TypeError, "in_proj_weight.*dtype of q, float32, got float64"),
    ],
)
def test_bad_input(x, params, settings, error, message):
    with pytest.raises(error, match=message):
        self_attention(x, params, **{"n_head": 2} | settings)


@pytest.mark.parametrize(
    ("k", "v", "message"),
    [
        (X[:1], X, r"k must have shape \(2, any, 6\), got \(1, 3, 6\)"),
        (X, X[:, :2], r"v must have shape \(2, 3, 6\), got \(2, 2, 6\)"),
        (X[..., :5], X, r"k must have shape \(2, any, 6\), got \(2, 3, 5\)"),
    ],
)
def test_bad_keys_and_values(k, v, message):
    with pytest.raises(ValueError, match=message):
        multi_head_attention(X, k, v, PARAMS, n_head=2)
