"""The cost of a Transformer block against what is known: the formula for its products, and the memory it takes."""

import gc
import tracemalloc

import numpy as np

from compare.interpretations import cost
from refimpl.blocks.encoder_block import pre_norm_block


def _block(make, d_model, d_ff):
    shapes = {
        "self_attn.in_proj_weight": (3 * d_model, d_model), "self_attn.out_proj.weight": (d_model, d_model),
        "linear1.weight": (d_ff, d_model), "linear2.weight": (d_model, d_ff), "norm1.weight": (d_model,),
        "norm2.weight": (d_model,), "self_attn.in_proj_bias": (3 * d_model,), "self_attn.out_proj.bias": (d_model,),
        "linear1.bias": (d_ff,), "linear2.bias": (d_model,), "norm1.bias": (d_model,), "norm2.bias": (d_model,),
    }  # fmt: skip
    return {key: make(shape) for key, shape in shapes.items()}


def _run(x, params, n_head):
    y, pullback = pre_norm_block(x, params, n_head=n_head, activation="gelu")
    return y, pullback(y)


def test_products_of_a_gpt3_block_cost_what_the_formula_says():
    d_model, d_ff, n_seq = 12288, 4 * 12288, 2048
    params = _block(lambda shape: cost.empty(shape, "float16"), d_model, d_ff)
    x = cost.empty((1, n_seq, d_model), "float16")
    with cost.tracking() as tracker:
        _run(x, params, n_head=96)
    # Forward 2 and backward 4 flops for every weight of a matrix and every token (Kaplan et al. 2020, section 2.1),
    # and the same for the scores and the weighted sum, each n_seq² d_model multiply-adds.
    n_weight = sum(x.size for x in params.values() if x.ndim == 2)
    products = sum(tracker.by_word[word].flops for word in ("matmul", "einsum"))
    assert products == 6 * n_weight * n_seq + 6 * 2 * n_seq**2 * d_model
    assert products / tracker.flops > 0.99


def test_the_peak_is_what_tracemalloc_sees():
    rng = np.random.default_rng(0)
    params = _block(lambda shape: rng.normal(size=shape).astype(np.float32) / 16, 256, 1024)
    x = rng.normal(size=(4, 128, 256)).astype(np.float32)
    _run(x, params, n_head=4)
    gc.collect()
    tracemalloc.start()
    try:
        held = _run(x, params, n_head=4)
        real = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    shape_only = cost.lift((x, params))
    with cost.tracking() as tracker:
        held = _run(*shape_only, n_head=4)
    # NumPy writes some results into temporaries of the same size, and Python's objects take a little.
    assert 0.9 < real / tracker.peak_bytes < 1.1
    assert held[0].shape == x.shape
