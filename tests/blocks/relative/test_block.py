import numpy as np
import pytest

from compare.cases.draw import normal_params
from compare.cases.relative_block import shapes_of_block
from refimpl.blocks.relative.block import relative_post_norm_block, relative_pre_norm_block
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.blocks.relative.stack import relative_stack

GENERATOR = np.random.default_rng(0)
PARAMS = normal_params(GENERATOR, shapes_of_block(6, 2, 3, 5))
X, MEMORY, RELATIVE = (GENERATOR.standard_normal(shape) for shape in ((2, 3, 6), (2, 4, 6), (7, 6)))
BOTH = pytest.mark.parametrize("block", [relative_post_norm_block, relative_pre_norm_block])


@BOTH
def test_no_position_sees_what_comes_after_it(block):
    before, _ = block(X, MEMORY, RELATIVE, PARAMS, n_head=2)
    changed = np.where((np.arange(3) == 2)[:, None], 9.0, X)
    after, _ = block(changed, MEMORY, RELATIVE, PARAMS, n_head=2)
    np.testing.assert_array_equal(before[:, :2], after[:, :2])
    assert np.all(np.any(before[:, 2] != after[:, 2], axis=-1))


@BOTH
def test_a_masked_memory_is_none(block):
    mask = (np.arange(7) >= 4)[None, None, None, :]
    got, pullback = block(X, np.nan * MEMORY, RELATIVE, PARAMS, n_head=2, mask=mask)
    want, _ = block(X, MEMORY[:, :0], RELATIVE[4:], PARAMS, n_head=2)
    assert np.max(np.abs(got - want)) <= 2**8 * np.finfo(float).eps
    if block is relative_post_norm_block:  # where norms come first, a memory of NaN has no norm either
        assert not np.any(pullback(X)[1])


@BOTH
@pytest.mark.parametrize(
    ("x", "memory", "relative", "message"),
    [
        (X[0], MEMORY, RELATIVE, r"x must have shape \(any, any, any\), got \(3, 6\)"),
        (X, MEMORY[:1], RELATIVE, r"memory must have shape \(2, any, 6\), got \(1, 4, 6\)"),
        (X, MEMORY, RELATIVE[1:], r"relative must have shape \(7, 6\), got \(6, 6\)"),
    ],
)
def test_bad_arrays(block, x, memory, relative, message):
    with pytest.raises(ValueError, match=message):
        block(x, memory, relative, PARAMS, n_head=2)


@BOTH
def test_bad_params(block):
    with pytest.raises(ValueError, match=r"params must have the keys .*got .*stray"):
        block(X, MEMORY, RELATIVE, PARAMS | {"stray": X}, n_head=2)
    with pytest.raises(ValueError, match="n_head must be the first size of r_w_bias, got 3"):
        block(X, MEMORY, RELATIVE, PARAMS, n_head=3)


def test_a_stack_of_bad_parts():
    stacked = {f"layers.{i}.{key}": x for i in range(2) for key, x in PARAMS.items()}
    memory = np.stack([MEMORY, MEMORY])
    with pytest.raises(ValueError, match=r"memory must have shape \(2, any, any, any\), got \(1, 2, 4, 6\)"):
        relative_stack(X, memory[:1], RELATIVE, stacked, n_layer=2, n_head=2)
    with pytest.raises(ValueError, match="n_layer must be at least 1, got 0"):
        relative_stack(X, memory[:0], RELATIVE, stacked, n_layer=0, n_head=2)
    with pytest.raises(ValueError, match=r"params must have keys below layers\.0\., .* only, got stray"):
        relative_stack(X, memory, RELATIVE, stacked | {"stray": X}, n_layer=2, n_head=2)
    shared = stacked | {key: PARAMS[f"self_attn.{key}"] for key in ("r_w_bias", "r_r_bias")}
    # Whoever has both would have parameters without a gradient.
    with pytest.raises(ValueError, match=r"params must be without biases of .*layers\.0\.self_attn\.r_w_bias"):
        relative_stack(X, memory, RELATIVE, shared, n_layer=2, n_head=2)


@pytest.mark.parametrize("n_memory", [0, 2, 4, 7, 9])
def test_the_last_positions_are_kept(n_memory):
    memory, x = np.arange(4.0).reshape(1, 1, 4, 1), np.arange(4.0, 7.0).reshape(1, 1, 3, 1)
    y, pullback = segment_memory(memory, x, n_memory=n_memory)
    assert y.ravel().tolist() == list(range(7))[max(0, 7 - n_memory) :]
    dmemory, dx = pullback(y + 1.0)
    kept = [i + 1 if i >= 7 - n_memory else 0 for i in range(7)]
    assert [*dmemory.ravel().tolist(), *dx.ravel().tolist()] == kept


def test_a_bad_memory():
    with pytest.raises(ValueError, match=r"memory must have shape \(2, 1, any, 6\), got \(2, 3, 6\)"):
        segment_memory(X, np.ones((2, 1, 3, 6)), n_memory=3)
    with pytest.raises(ValueError, match="n_memory must be at least 0, got -1"):
        segment_memory(np.ones((2, 1, 3, 6)), np.ones((2, 1, 3, 6)), n_memory=-1)
