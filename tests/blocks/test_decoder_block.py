import numpy as np
import pytest

from compare import strategies
from refimpl.attention.mask import causal_mask
from refimpl.blocks.decoder_block import post_norm_decoder_block, pre_norm_decoder_block

BLOCKS = pytest.mark.parametrize("block", [post_norm_decoder_block, pre_norm_decoder_block])
RNG = np.random.default_rng(0)
X, MEMORY = RNG.standard_normal((2, 3, 6)), RNG.standard_normal((2, 4, 6))
PARAMS = {
    key: RNG.standard_normal(shape) for part in strategies.decoder_block_shapes(6, 5) for key, shape in part.items()
}


def test_the_residual_path_of_the_pre_norm_block_is_clear():
    """With last matrices of 0 nothing is added, and dy passes through unchanged."""
    silent = PARAMS | {key: 0.0 * PARAMS[key] for key in PARAMS if "out_proj" in key or "linear2" in key}
    y, pullback = pre_norm_decoder_block(X, MEMORY, silent, n_head=2)
    np.testing.assert_array_equal(y, X)
    dx, dmemory, _ = pullback(X)
    np.testing.assert_array_equal(dx, X)
    assert not np.any(dmemory)


@BLOCKS
def test_a_target_that_may_ask_nothing_has_only_biases_from_the_memory(block):
    nothing = np.zeros((3, 4), bool)
    y, pullback = block(X, MEMORY, PARAMS, n_head=2, memory_mask=nothing)
    np.testing.assert_array_equal(y, block(X, np.full_like(MEMORY, np.nan), PARAMS, n_head=2, memory_mask=nothing)[0])
    assert not np.any(pullback(X)[1])


@BLOCKS
def test_no_later_position_matters(block):
    mask = causal_mask(3, 3, like=X)
    y, _ = block(X, MEMORY, PARAMS, n_head=2, mask=mask)
    changed = np.concatenate([X[:, :2], 2.0 * X[:, 2:]], axis=1)
    np.testing.assert_array_equal(block(changed, MEMORY, PARAMS, n_head=2, mask=mask)[0][:, :2], y[:, :2])


@BLOCKS
def test_no_sequences_no_positions_and_no_memory(block):
    for shape, n_key in [((0, 3, 6), 4), ((2, 0, 6), 4), ((2, 3, 6), 0)]:
        y, pullback = block(np.zeros(shape), np.zeros((shape[0], n_key, 6)), PARAMS, n_head=2)
        dx, dmemory, _ = pullback(y)
        assert (y.shape, dx.shape, dmemory.shape) == (shape, shape, (shape[0], n_key, 6))


@BLOCKS
@pytest.mark.parametrize(
    ("changed", "params", "error", "message"),
    [
        ({"memory": MEMORY[:1]}, {}, ValueError, r"memory must have shape \(2, any, any\), got \(1, 4, 6\)"),
        ({"memory": MEMORY[..., :5]}, {}, ValueError, r"must have shape .*6\), got \(2, 4, 5\)"),
        ({"n_head": 4}, {}, ValueError, "n_head must be a divisor of d_model = 6, got 4"),
        ({"memory_mask": np.ones((3, 3), bool)}, {}, ValueError, r"memory_mask must broadcast to \(2, 2, 3, 4\)"),
        ({"memory_mask": np.ones((3, 4))}, {}, TypeError, "memory_mask must be a boolean array"),
        ({}, {"norm4.weight": np.ones(6)}, ValueError, r"params must have the keys .*got .*norm4\.weight"),
        ({}, {"norm3.weight": np.ones(5)}, ValueError, r"weight must have shape \(6,\), got \(5,\)"),
    ],
)
def test_bad_input(block, changed, params, error, message):
    given = {"memory": MEMORY, "n_head": 2} | changed
    with pytest.raises(error, match=message):
        block(X, given.pop("memory"), PARAMS | params, **given)
