import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.positions.alibi import alibi_bias, alibi_slopes


def test_by_hand():
    """Two heads: slopes 1/16 and 1/256; the last query is at the last key."""
    bias = alibi_bias(2, 3, n_head=2, like=np.ones(1))
    np.testing.assert_array_equal(bias * 16, [[[-1, 0, -1], [-2, -1, 0]], np.array([[-1, 0, -1], [-2, -1, 0]]) / 16])


@pytest.mark.parametrize("n_head", [3, 4])
@pytest.mark.parametrize(("n_query", "n_key"), [(5, 5), (2, 7), (4, 3)])
def test_a_plain_loop(n_head, n_query, n_key):
    bias = alibi_bias(n_query, n_key, n_head=n_head, like=np.ones(1))
    for h, i, j in np.ndindex(bias.shape):
        assert bias[h, i, j] == -alibi_slopes(n_head)[h] * abs(i + n_key - n_query - j)


@pytest.mark.parametrize("n_head", [1, 2, 3, 4, 6, 8, 12, 16, 20, 25, 32, 40, 71, 112])
def test_slopes_are_those_of_bloom_and_mpt(n_head):
    """Theirs are float32 powers: one rounding of the exponent's base and up to n of the power."""
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    slopes = np.array(alibi_slopes(n_head))
    bloom = build_alibi_tensor(torch.ones(1, 2, dtype=torch.int64), n_head, torch.float64)[:, 0, 1].numpy()
    mpt = -build_mpt_alibi_tensor(n_head, 2)[:, 0, 0].double().numpy()
    for theirs in (bloom, mpt):
        assert np.all(np.abs(slopes - theirs) <= 2.0**-24 * (2 + 2 * n_head) * slopes)


def test_more_queries_than_keys():
    bias = alibi_bias(3, 1, n_head=1, like=np.ones(1))
    np.testing.assert_array_equal(bias * 256, [[[-2], [-1], [0]]])


def test_the_bias_takes_the_dtype_of_like():
    assert alibi_bias(2, 2, n_head=3, like=np.ones(1, np.float32)).dtype == np.float32
    sixteen = alibi_bias(300, 300, n_head=1, like=narrow([1.0], "bfloat16"))
    assert sixteen.dtype == narrow([1.0], "bfloat16").dtype
    # 257 / 256 rounded once; a distance in bfloat16 would be 256.
    assert float(alibi_bias(1, 258, n_head=1, like=narrow([1.0], "float16"))[0, 0, 0]) == -257 / 256


def test_nothing():
    assert alibi_bias(0, 3, n_head=2, like=np.ones(1)).shape == (2, 0, 3)
    assert alibi_bias(3, 0, n_head=2, like=np.ones(1)).shape == (2, 3, 0)


def test_bad_input():
    with pytest.raises(ValueError, match="n_head must be at least 1, got 0"):
        alibi_slopes(0)
    with pytest.raises(ValueError, match="n_head must be at least 1, got -3"):
        alibi_bias(2, 2, n_head=-3, like=np.ones(1))
    with pytest.raises(TypeError, match="like must be a floating array, got dtype int64"):
        alibi_bias(2, 2, n_head=2, like=np.arange(2))
