import numpy as np
import pytest

from compare import strategies
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block

X = np.random.default_rng(0).standard_normal((2, 3, 6))


def _params(i):
    required, optional = strategies.scoped(f"layers.{i}.", strategies.block_shapes(6, 5))
    generator = np.random.default_rng(i)
    return {key: generator.standard_normal(shape) for key, shape in {**required, **optional}.items()}


PARAMS = _params(0) | _params(1)


@pytest.mark.parametrize("block", [post_norm_block, pre_norm_block])
def test_two_layers_are_one_after_the_other(block):
    states, pullback = encoder(X, PARAMS, n_layer=2, n_head=2, block=block)
    first, first_pullback = block(X, {key[9:]: value for key, value in _params(0).items()}, n_head=2)
    second, second_pullback = block(first, {key[9:]: value for key, value in _params(1).items()}, n_head=2)
    np.testing.assert_array_equal(states, [first, second])
    dx, dparams = pullback((X, 2.0 * X))
    dfirst, dsecond_params = second_pullback(2.0 * X)
    want_dx, dfirst_params = first_pullback(dfirst + X)
    np.testing.assert_array_equal(dx, want_dx)
    assert list(dparams) == list(PARAMS)
    for i, part in enumerate([dfirst_params, dsecond_params]):
        for key, gradient in part.items():
            np.testing.assert_array_equal(dparams[f"layers.{i}.{key}"], gradient)


def test_every_layer_may_have_a_block_of_its_own():
    states, _ = encoder(X, PARAMS, n_layer=2, n_head=2, block=[pre_norm_block, post_norm_block])
    first, _ = pre_norm_block(X, {key[9:]: value for key, value in _params(0).items()}, n_head=2)
    second, _ = post_norm_block(first, {key[9:]: value for key, value in _params(1).items()}, n_head=2)
    np.testing.assert_array_equal(states, [first, second])
    with pytest.raises(ValueError, match="block must be one, or one for each of 2 layers, got 1"):
        encoder(X, PARAMS, n_layer=2, n_head=2, block=[pre_norm_block])


def test_ten_layers_and_more_keep_their_names_apart():
    """layers.1 is no prefix of layers.10."""
    params = {key: value for i in range(11) for key, value in _params(i).items()}
    states, pullback = encoder(X, params, n_layer=11, n_head=2)
    assert len(states) == 11
    assert pullback(states)[1].keys() == params.keys()


def test_gradients_of_absent_paths():
    np.testing.assert_array_equal(add_gradients(None, X, None, X), 2.0 * X)
    np.testing.assert_array_equal(add_gradients(X), X)


@pytest.mark.parametrize(
    ("params", "n_layer", "error", "message"),
    [
        (PARAMS, 1, ValueError, r"params must have keys below layers\.0\. only, got layers\.1\."),
        (PARAMS, 3, ValueError, "params must have the keys .*got none"),
        (PARAMS, 0, ValueError, "n_layer must be positive, got 0"),
        (PARAMS | {"norm.weight": X}, 2, ValueError, r"only, got norm\.weight"),
        (list(PARAMS), 2, TypeError, "params must be a dict of arrays, got list"),
    ],
)
def test_bad_input(params, n_layer, error, message):
    with pytest.raises(error, match=message):
        encoder(X, params, n_layer=n_layer, n_head=2)
