import numpy as np
import pytest

from compare.cases.grouped_query_layer import layer_shapes
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.grouped.layer import grouped_query_decode, grouped_query_self_attention
from refimpl.positions.rotary import rotary
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

GENERATOR = np.random.default_rng(5)
X = GENERATOR.standard_normal((2, 4, 6))
SIZES = {"n_head": 4, "n_kv_head": 2}
PARAMS = {key: GENERATOR.standard_normal(shape) for key, shape in layer_shapes(6, **SIZES, d_head=4).items()}


def test_identity_projections_gather_the_mean():
    """Two query heads of zeros on one key head: every position gathers the mean value, once for each head."""
    params = {
        "q_proj.weight": np.zeros((4, 2)),
        "k_proj.weight": np.eye(2),
        "v_proj.weight": np.eye(2),
        "o_proj.weight": np.concatenate([np.eye(2), 10.0 * np.eye(2)], axis=1),
    }
    y, _ = grouped_query_self_attention(np.array([[[1.0, 2.0], [3.0, 6.0]]]), params, n_head=2, n_kv_head=1)
    np.testing.assert_array_equal(y, [[[22, 44], [22, 44]]])


def test_only_the_distance_of_rotated_positions_matters():
    call = Call({"x": X}, PARAMS, {**SIZES, "rotate": rotary, "positions": np.arange(4) + 7})
    component = component_of(grouped_query_self_attention)
    shifted, sigma = component(call)[0], spread_run(component, call)[0]["y"].sigma
    y, _ = grouped_query_self_attention(X, PARAMS, **SIZES, rotate=rotary)
    assert_close(y, shifted, sigma, name="shifted")
    unrotated, _ = grouped_query_self_attention(X, PARAMS, **SIZES)
    with pytest.raises(AssertionError):
        assert_close(unrotated, shifted, sigma, name="unrotated")


def test_rows_may_have_positions_of_their_own():
    positions = np.array([[0, 1, 2, 3], [0, 0, 0, 1]])
    call = Call({"x": X}, PARAMS, {**SIZES, "rotate": rotary, "positions": positions})
    component = component_of(grouped_query_self_attention)
    y, sigma = component(call)[0], spread_run(component, call)[0]["y"].sigma
    for row in range(2):
        alone, _ = grouped_query_self_attention(X[[row]], PARAMS, **SIZES, rotate=rotary, positions=positions[row])
        assert_close(alone, y[[row]], sigma[[row]], name=f"row {row}")


def test_decoding_leaves_the_old_cache_alone():
    past = empty_cache(2, 2, 4, like=X)
    _, grown = grouped_query_decode(X, PARAMS, past, **SIZES)
    assert past.k.shape == (2, 2, 0, 4)
    assert grown.k.shape == (2, 2, 4, 4)


def test_bad_input_is_refused():
    def call(**changes):
        grouped_query_self_attention(X, {**PARAMS, **changes.pop("params", {})}, **{**SIZES, **changes})

    with pytest.raises(ValueError, match="n_kv_head must be at least 1, got 0"):
        call(n_kv_head=0)
    with pytest.raises(ValueError, match="n_head must be a multiple of n_kv_head = 3, got 4"):
        call(n_kv_head=3)
    with pytest.raises(ValueError, match=r"n_head must be a divisor of the 16 rows of q_proj\.weight, got 6"):
        call(n_head=6)
    with pytest.raises(ValueError, match=r"k_proj.weight must have shape \(8, 6\), got \(7, 6\)"):
        call(params={"k_proj.weight": np.zeros((7, 6))})
    with pytest.raises(ValueError, match=r"o_proj.weight must have shape \(6, 16\), got \(6, 15\)"):
        call(params={"o_proj.weight": np.zeros((6, 15))})
    with pytest.raises(ValueError, match=r"v_proj.bias must have shape \(8,\), got \(16,\)"):
        call(params={"v_proj.bias": np.zeros(16)})
    with pytest.raises(ValueError, match="params must have the keys"):
        call(params={"sinks": np.zeros(4)})
    with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 4, 4, 4\), got \(3, 3\)"):
        call(mask=np.ones((3, 3), bool))
    with pytest.raises(ValueError, match=r"k must have shape \(2, 1, any, 4\), got \(2, 2, 4, 4\)"):
        grouped_query_decode(X, PARAMS, empty_cache(2, 1, 4, like=X), **SIZES)
