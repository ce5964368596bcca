"""Hypothesis strategies: random, non-degenerate input for components and for implementations that mimic them.

>>> @given(data())
... def test_mine(data):
...     n_row, d_in, d_out = data.draw(strategies.sizes(3))
...     x = data.draw(strategies.floating((n_row, d_in), scale=10.0))
...     params = data.draw(strategies.params(*strategies.linear_shapes(d_in, d_out)))
"""

from compare.strategies.arrays import LAYOUTS, floating, generators, ids, laid_out, masks, shapes, sizes
from compare.strategies.params import (
    bert_shapes,
    block_shapes,
    decoder_block_shapes,
    feed_forward_shapes,
    linear_shapes,
    multi_head_shapes,
    norm_shapes,
    params,
    scoped,
)

__all__ = [
    "LAYOUTS",
    "bert_shapes",
    "block_shapes",
    "decoder_block_shapes",
    "feed_forward_shapes",
    "floating",
    "generators",
    "ids",
    "laid_out",
    "linear_shapes",
    "masks",
    "multi_head_shapes",
    "norm_shapes",
    "params",
    "scoped",
    "shapes",
    "sizes",
]
