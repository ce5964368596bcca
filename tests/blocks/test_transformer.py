import numpy as np
import pytest

from compare.cases.transformer import transformer_shapes
from refimpl.blocks.transformer import transformer

RNG = np.random.default_rng(0)
SOURCE, TARGET = RNG.standard_normal((2, 4, 6)), RNG.standard_normal((2, 3, 6))
PARAMS = {key: RNG.standard_normal(shape) for key, shape in transformer_shapes(6, 5, 1, 2).items()}
SIZES = {"n_layer": 1, "n_decoder_layer": 2, "n_head": 2}


def test_states_without_dy_count_as_0():
    states, pullback = transformer(SOURCE, TARGET, PARAMS, **SIZES)
    zeros = [np.zeros_like(state) for state in states[:-1]]
    for got, want in zip(pullback((None, None, TARGET)), pullback((*zeros, TARGET)), strict=True):
        pairs = [(got[key], want[key]) for key in want] if isinstance(want, dict) else [(got, want)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


def test_without_last_norms():
    bare = {key: value for key, value in PARAMS.items() if ".norm." not in key}
    states, pullback = transformer(SOURCE, TARGET, bare, **SIZES)
    assert len(states) == 3
    assert pullback(states)[2].keys() == bare.keys()


def test_the_numbers_of_heads_may_differ():
    one = transformer(SOURCE, TARGET, PARAMS, **SIZES)[0]
    other = transformer(SOURCE, TARGET, PARAMS, **SIZES, n_decoder_head=3)[0]
    np.testing.assert_array_equal(one[0], other[0])
    assert np.any(one[-1] != other[-1])


@pytest.mark.parametrize(
    ("target", "params", "changed", "message"),
    [
        (TARGET[:1], {}, {}, r"target must have shape \(2, any, 6\), got \(1, 3, 6\)"),
        (TARGET, {"norm.weight": np.ones(6)}, {}, r"keys below encoder\., decoder\. only, got norm\.weight"),
        (TARGET, {}, {"target_mask": np.ones((3, 4), bool)}, r"target_mask must broadcast to \(2, 2, 3, 3\)"),
        (TARGET, {}, {"memory_mask": np.ones((3, 3), bool)}, r"memory_mask must broadcast to \(2, 2, 3, 4\)"),
        (TARGET, {}, {"n_layer": 2}, "params must have the keys .*got none"),
    ],
)
def test_bad_input(target, params, changed, message):
    with pytest.raises(ValueError, match=message):
        transformer(SOURCE, target, PARAMS | params, **(SIZES | changed))
