import numpy as np
import pytest

from compare.cases.draw import normal_params
from compare.cases.encoder_block import block_shapes
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.mask import causal_mask
from refimpl.blocks.decoding.encoder_block import post_norm_decode, pre_norm_decode
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

X = np.random.default_rng(0).standard_normal((2, 5, 6))
PARAMS = normal_params(np.random.default_rng(1), block_shapes(6, 7))
SETTINGS = {"n_head": 3, "activation": "gelu", "eps": 1e-3}
PAIRS = pytest.mark.parametrize(
    ("decode", "block"), [(post_norm_decode, post_norm_block), (pre_norm_decode, pre_norm_block)]
)


@PAIRS
def test_new_positions_are_those_of_the_whole(decode, block):
    call = Call({"x": X}, PARAMS, SETTINGS | {"mask": causal_mask(5, 5, like=X)})
    component = component_of(block)
    first, past = decode(X[:, :3], PARAMS, empty_cache(2, 3, 2, like=X), **SETTINGS)
    second, grown = decode(X[:, 3:], PARAMS, past, **SETTINGS)
    sigma = spread_run(component, call)[0]["y"].sigma
    assert_close(np.concatenate([first, second], axis=1), component(call)[0], sigma, name="y")
    assert (past.k.shape[2], grown.k.shape[2]) == (3, 5)


@PAIRS
def test_bad_params(decode, block):
    with pytest.raises(ValueError, match=r"params must have the keys .*got .*norm3\.weight"):
        decode(X, PARAMS | {"norm3.weight": np.ones(6)}, empty_cache(2, 3, 2, like=X), **SETTINGS)
