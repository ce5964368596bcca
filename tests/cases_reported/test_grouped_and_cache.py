"""Faults of grouped heads and of caches that other implementations really had; the numbers name the public reports."""

import itertools

import numpy as np

from compare.cases.grouped_query_layer import layer_shapes
from refimpl.attention.cache.key_value import append, cache_mask, empty_cache
from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.grouped.layer import grouped_query_decode, grouped_query_self_attention
from refimpl.attention.mask import causal_mask
from refimpl.positions.rotary import rotary
from tests.properties.component import Call, Component
from tests.properties.rounding import assert_close, spread_run


def test_A8_four_query_heads_on_two_key_heads_are_h0_h0_h1_h1():
    """onnx 7274."""
    q, k = np.zeros((1, 4, 1, 2)), np.zeros((1, 2, 2, 2))
    v = np.array([[[[1.0]] * 2, [[2.0]] * 2]])
    y, pullback = grouped_query_attention(q, k, v)
    np.testing.assert_array_equal(y.ravel(), [1, 1, 2, 2])
    *_, dv = pullback(np.array([1.0, 2.0, 4.0, 8.0]).reshape(1, 4, 1, 1))
    np.testing.assert_array_equal(dv.sum(axis=(2, 3)), [[3, 12]])


def test_A6_a_chunk_after_a_past_is_masked_from_the_length_of_the_past_on(generator):
    """onnx 7297."""
    k = generator.standard_normal((1, 1, 5, 2))
    past = append(empty_cache(1, 1, 2, like=k), k[:, :, :3], k[:, :, :3])
    grown = append(past, k[:, :, 3:], k[:, :, 3:])
    mask = cache_mask(grown, grown.positions[:, 3:])
    assert mask[0, 0].astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    np.testing.assert_array_equal(mask[0, 0], causal_mask(2, 5, like=k))


def test_G1_outputs_with_a_cache_equal_those_without_for_every_split(generator):
    """x-transformers 187."""
    n_seq, sizes = 5, {"n_head": 4, "n_kv_head": 2, "rotate": rotary}
    shapes = layer_shapes(6, n_head=4, n_kv_head=2, d_head=2)
    params = {key: generator.standard_normal(shape) for key, shape in shapes.items()}
    x = generator.standard_normal((2, n_seq, 6))
    call = Call({"x": x}, params, {**sizes, "mask": causal_mask(n_seq, n_seq, like=x)})
    component = Component(grouped_query_self_attention, None, ("x", "params"))
    want, sigma = component(call)[0], spread_run(component, call)[0]["y"].sigma
    for n in range(n_seq):
        for bounds in itertools.combinations(range(1, n_seq), n):
            past, outputs = empty_cache(2, 2, 2, like=x), []
            for start, stop in itertools.pairwise([0, *bounds, n_seq]):
                y, past = grouped_query_decode(x[:, start:stop], params, past, **sizes)
                outputs.append(y)
            assert_close(np.concatenate(outputs, axis=1), want, sigma, name=f"split at {bounds}")
