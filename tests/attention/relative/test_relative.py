"""Transformer-XL's attention: the shift by hand, the diagonal, and segments with memories of any length."""

import numpy as np
import pytest

from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.relative.attention import relative_attention
from refimpl.attention.relative.layer import relative_self_attention
from refimpl.attention.relative.shift import relative_shift


def given(*, n_batch=2, n_head=3, n_query=4, n_key=6, d_head=5, d_value=2):
    generator = np.random.default_rng(14)
    shapes = [(n_batch, n_head, n_query, d_head), (n_batch, n_head, n_key, d_head), (n_batch, n_head, n_key, d_value)]
    shapes += [(n_head, n_key, d_head), (n_head, d_head), (n_head, d_head)]
    return [generator.standard_normal(shape) for shape in shapes]


def layer(*, n_seq=4, n_memory=3, d_model=6, n_head=2, d_head=5):
    generator = np.random.default_rng(14)
    shapes = {
        "qkv_net.weight": (3 * n_head * d_head, d_model), "r_net.weight": (n_head * d_head, d_model),
        "o_net.weight": (d_model, n_head * d_head), "r_w_bias": (n_head, d_head), "r_r_bias": (n_head, d_head),
    }  # fmt: skip
    arrays = [generator.standard_normal(shape) for shape in ((2, n_seq, d_model), (2, n_memory, d_model))]
    relative = generator.standard_normal((n_memory + n_seq, d_model))
    return *arrays, relative, {key: generator.standard_normal(shape) for key, shape in shapes.items()}


def test_shift_by_hand():
    """Row i holds the scores of distances 3, 2, 1, 0; the last key is the last query's own."""
    x = np.array([[13.0, 12.0, 11.0, 10.0], [23.0, 22.0, 21.0, 20.0], [33.0, 32.0, 31.0, 30.0]])
    y, pullback = relative_shift(x)
    assert y.tolist() == [[11, 10, 0, 0], [22, 21, 20, 0], [33, 32, 31, 30]]
    assert pullback(np.ones((3, 4)))[0].tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]]


def test_one_row_needs_no_shift(generator):
    x = generator.standard_normal((2, 1, 6))
    np.testing.assert_array_equal(relative_shift(x)[0], x)


def test_encodings_of_0_leave_attention_by_content():
    q, k, v, r, content_bias, position_bias = given()
    y, _ = relative_attention(q, k, v, 0.0 * r, content_bias, position_bias)
    plain, _ = attention(q + content_bias[:, None], k, v, mask=causal_mask(4, 6, like=q))
    np.testing.assert_array_equal(y, plain)


def test_only_the_distance_counts(generator):
    """Queries and keys all alike: what the encodings say is the same for every query, further on."""
    *_, r, content_bias, position_bias = given(n_query=6)
    same_q, same_k = (np.broadcast_to(generator.standard_normal(5), (2, 3, 6, 5)) for _ in range(2))
    # With the value of position j in feature j the output is the weights.
    weights, _ = relative_attention(
        same_q, same_k, np.broadcast_to(np.eye(6), (2, 3, 6, 6)), r, content_bias, position_bias
    )
    for i in range(1, 6):
        # The ratio of neighbouring weights is the exponential of the difference of their scores.
        own, former = weights[..., i, 1 : i + 1], weights[..., i - 1, :i]
        ratio = own / own[..., -1:] / (former / former[..., -1:])
        assert np.all(np.abs(ratio - 1.0) <= 2**-44)  # a few roundings of scores of up to 20, in exponentials


def test_a_key_farther_away_than_any_distance_changes_nothing_before_it():
    """A longer memory that is masked is no memory."""
    x, memory, relative, params = layer()
    y, _ = relative_self_attention(x, memory[:, 1:], relative[1:], params, n_head=2)
    hidden = (np.arange(7) > 0)[None, :] & np.ones((4, 1), bool)
    masked, _ = relative_self_attention(x, memory, relative, params, n_head=2, mask=hidden)
    assert np.all(np.abs(y - masked) <= 2**-42 * np.max(np.abs(y)))  # products over other lengths may round otherwise


def test_a_segment_after_its_memory_is_the_end_of_the_whole():
    """Causal attention over eight positions, or over the last five with a memory of three."""
    x, memory, relative, params = layer(n_seq=5)
    both = np.concatenate([memory, x], axis=1)
    whole, _ = relative_self_attention(both, both[:, :0], relative, params, n_head=2)
    y, pullback = relative_self_attention(x, memory, relative, params, n_head=2)
    assert np.all(np.abs(whole[:, 3:] - y) <= 2**-42 * np.max(np.abs(y)))  # as above
    dx, dmemory, drelative, dparams = pullback(y)
    assert (dx.shape, dmemory.shape, drelative.shape) == (x.shape, memory.shape, relative.shape)
    assert list(dparams) == list(params)


@pytest.mark.parametrize(("n_query", "n_key"), [(1, 1), (1, 5), (5, 1), (4, 2), (0, 3), (3, 0)])
def test_any_lengths(n_query, n_key):
    arrays = given(n_query=n_query, n_key=n_key)
    y, pullback = relative_attention(*arrays)
    np.testing.assert_array_equal(y[:, :, : max(n_query - n_key, 0)], 0.0)
    for x, gradient in zip(arrays, pullback(y), strict=True):
        assert gradient.shape == x.shape
        assert np.all(np.isfinite(gradient))


def test_nan_in_padding_reaches_nothing():
    q, k, v, *others = given()
    mask = np.array([True, False, True, True, False, True])[None, :]
    clean, clean_pullback = relative_attention(q, k, v, *others, mask=mask)
    spoilt = [np.where(mask[0][:, None], x, np.nan) for x in (k, v)]
    y, pullback = relative_attention(q, *spoilt, *others, mask=mask)
    for got, want in zip((y, *pullback(y)), (clean, *clean_pullback(clean)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_refusals():
    q, k, v, r, content_bias, position_bias = given()
    with pytest.raises(ValueError, match=r"r must have shape \(3, 6, 5\), got \(3, 5, 5\)"):
        relative_attention(q, k, v, r[:, 1:], content_bias, position_bias)
    with pytest.raises(ValueError, match=r"position_bias must have shape \(3, 5\), got \(2, 5\)"):
        relative_attention(q, k, v, r, content_bias, position_bias[1:])
    with pytest.raises(ValueError, match="q must have at least 3 axes"):
        relative_attention(q[0, 0], k[0, 0], v[0, 0], r, content_bias, position_bias)
    x, memory, relative, params = layer()
    with pytest.raises(ValueError, match=r"relative must have shape \(7, 6\), got \(6, 6\)"):
        relative_self_attention(x, memory, relative[1:], params, n_head=2)
    with pytest.raises(ValueError, match="n_head must be the first size of r_w_bias, got 3"):
        relative_self_attention(x, memory, relative, params, n_head=3)
    with pytest.raises(ValueError, match="x must have at least 2 axes"):
        relative_shift(np.ones(3))
