import numpy as np

from refimpl.attention.heads import join_heads, split_heads


def test_a_head_is_a_block_of_neighbouring_features():
    x = np.arange(12.0).reshape(1, 2, 6)
    heads = split_heads(x, 3)
    assert heads.shape == (1, 3, 2, 2)
    assert heads[0, 1].tolist() == [[2, 3], [8, 9]]


def test_joining_undoes_splitting():
    x = np.random.default_rng(0).standard_normal((2, 5, 12))
    for n_head in (1, 3, 12):
        np.testing.assert_array_equal(join_heads(split_heads(x, n_head)), x)


def test_each_is_the_pullback_of_the_other():
    """<split(x), dy> = <x, join(dy)>: a permutation, so the same products are summed; of integers, exactly."""
    generator = np.random.default_rng(0)
    x = generator.integers(-9, 9, (2, 5, 12)).astype(float)
    dy = generator.integers(-9, 9, (2, 4, 5, 3)).astype(float)
    assert np.sum(split_heads(x, 4) * dy) == np.sum(x * join_heads(dy))
