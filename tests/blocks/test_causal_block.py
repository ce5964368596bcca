import numpy as np
import pytest

from refimpl.blocks.causal_block import causal_block
from refimpl.blocks.next_token_loss import next_token_loss


def nothing(x, params):
    return (0.0 * x,), lambda dy: (0.0 * dy[0], {})


def telling(x, params):
    return (x, x[:, :1]), lambda dy: (dy[0] + np.pad(dy[1], ((0, 0), (0, x.shape[1] - 1), (0, 0))), {})


def plain(x, params):
    return 2.0 * x, lambda dy: (2.0 * dy, {})


X = np.arange(12.0).reshape(1, 3, 4)


@pytest.mark.parametrize(("parallel", "times", "gradient"), [(False, 9.0, 9.0), (True, 5.0, 5.0)])
def test_one_after_the_other_or_side_by_side(parallel, times, gradient):
    """With parts that double, x + 2x = 3x and 3x + 6x = 9x; side by side x + 2x + 2x = 5x."""

    def double(x, params):
        return (x,), lambda dy: (dy[0], {})

    (y,), pullback = causal_block(X, {}, norm=plain, attend=double, feed=double, parallel=parallel)
    np.testing.assert_array_equal(y, times * X)
    np.testing.assert_array_equal(pullback((np.ones_like(X),))[0], gradient * np.ones_like(X))


def test_what_parts_tell_is_told_on_in_order_and_has_a_gradient():
    (y, first, second), pullback = causal_block(X, {}, norm=plain, attend=telling, feed=telling)
    assert (first.shape, second.shape) == ((1, 1, 4), (1, 1, 4))
    np.testing.assert_array_equal(second, 2.0 * (X + 2.0 * X)[:, :1])
    dx, _ = pullback((np.zeros_like(y), np.zeros_like(first), np.ones_like(second)))
    np.testing.assert_array_equal(dx[0, :, 0], [6.0, 0.0, 0.0])


def test_a_parameter_of_no_part_is_refused():
    with pytest.raises(ValueError, match=r"below norm1\., self_attn\., norm2\., feed\. only, got mlp\.weight"):
        causal_block(X, {"mlp.weight": np.ones(2)}, norm=plain, attend=nothing, feed=nothing)


def test_the_last_token_is_asked_nothing():
    logits = np.zeros((2, 1, 5))
    loss, pullback = next_token_loss(logits, np.zeros((2, 1), dtype=int))
    assert float(loss) == 0.0
    np.testing.assert_array_equal(pullback(np.ones(()))[0], logits)
    with pytest.raises(ValueError, match=r"targets must have shape \(2, 1\), got \(2, 2\)"):
        next_token_loss(logits, np.zeros((2, 2), dtype=int))
