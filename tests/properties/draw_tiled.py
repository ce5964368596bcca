"""How to draw calls of attention in tiles, in bands and by distance."""

import math

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from refimpl.attention.sparse.longformer import GLOBAL, LOCAL
from tests.properties.component import Call
from tests.properties.draw_attention import dropouts
from tests.properties.draw_layers import SCALES, SEEDS

TILES = st.fixed_dictionaries({"tile_query": st.integers(1, 6), "tile_key": st.integers(1, 6)})
SCORES = st.fixed_dictionaries({"scale": st.none() | st.just(0.3), "softcap": st.none() | st.just(2.0)})


@st.composite
def _heads(draw, *, square=False):
    *lead, n_query, n_key, d_head = draw(strategies.sizes(4, 5, max_side=6))
    n_key = n_query if square else n_key
    return {
        "q": draw(strategies.floating((*lead, n_query, d_head), scale=draw(SCALES))),
        "k": draw(strategies.floating((*lead, n_key, d_head))),
        "v": draw(strategies.floating((*lead, n_key, d_head if square else draw(st.integers(1, 6))))),
    }


def _scores_shape(arrays):
    return *arrays["q"].shape[:-1], arrays["k"].shape[-2]


@st.composite
def tiled_calls(draw):
    arrays = draw(_heads())
    shape = _scores_shape(arrays)
    bias = {} if draw(st.booleans()) else {"bias": draw(strategies.floating(draw(strategies.masks(shape)).shape))}
    settings = {"mask": draw(st.none() | strategies.masks(shape)), "causal": draw(st.booleans())}
    return Call(arrays | bias, None, settings | draw(SCORES) | draw(dropouts(shape)) | draw(TILES), draw(SEEDS))


@st.composite
def split_kv_calls(draw):
    arrays = draw(_heads())
    settings = {"mask": draw(st.none() | strategies.masks(_scores_shape(arrays))), "chunk": draw(st.integers(1, 7))}
    return Call(arrays, None, settings | draw(SCORES), draw(SEEDS))


@st.composite
def merge_calls(draw):
    n_part, *lead, n_query, d_value = draw(strategies.sizes(3, 5, max_side=5))
    lses = draw(strategies.floating((n_part, *lead, n_query), scale=draw(SCALES)))
    arrays = {"outputs": draw(strategies.floating((n_part, *lead, n_query, d_value))), "lses": lses}
    return Call(arrays, None, {}, draw(SEEDS))


@st.composite
def _key_masks(draw, arrays):
    """Masks that are the same for every query."""
    *lead, _, n_key = _scores_shape(arrays)
    return draw(st.none() | strategies.masks((*lead, 1, n_key)))


@st.composite
def banded_calls(draw):
    arrays = draw(_heads())
    settings = {"left": draw(st.integers(0, 7)), "right": draw(st.integers(0, 7)), "mask": draw(_key_masks(arrays))}
    return Call(arrays, None, settings | draw(SCORES), draw(SEEDS))


@st.composite
def window_calls(draw, **others):
    arrays = draw(_heads())
    settings = {"window": draw(st.integers(1, 7)), "mask": draw(_key_masks(arrays))}
    drawn = {name: draw(strategy) for name, strategy in others.items()}
    return Call(arrays, None, settings | drawn | draw(SCORES), draw(SEEDS))


@st.composite
def strided_calls(draw):
    arrays = draw(_heads(square=True))
    settings = {"stride": draw(st.integers(1, 7)), "mask": draw(_key_masks(arrays))}
    return Call(arrays, None, settings | draw(SCORES), draw(SEEDS))


@st.composite
def band_layout_calls(draw):
    x = draw(strategies.floating(draw(strategies.shapes(min_rank=3))))
    size, n_block, n_shift = (draw(st.integers(1, 4)) for _ in range(3))
    # The blocks may begin before the first row and end after the last, but not beyond them.
    first = draw(st.integers(-n_block * size, x.shape[-2]))
    n_shift = max(n_shift, math.ceil(-first / size) - n_block + 2)
    return Call({"x": x}, None, {"first": first, "size": size, "n_block": n_block, "n_shift": n_shift}, draw(SEEDS))


@st.composite
def gather_calls(draw):
    n_batch, n_seq, n_row, d = draw(strategies.sizes(4))
    x = draw(strategies.floating((n_batch, n_seq, d)))
    return Call({"x": x, "ids": draw(strategies.ids((n_batch, n_row), n_seq + 1))}, None, {}, draw(SEEDS))


@st.composite
def longformer_calls(draw):
    n_batch, n_seq, n_head, d_head = draw(strategies.sizes(4, max_side=5))
    d_model = n_head * d_head
    generator = draw(strategies.generators())
    n_global = draw(st.integers(1, n_seq))
    global_ids = np.argsort(generator.random((n_batch, n_seq)), axis=1)[:, :n_global]
    global_ids = np.where(generator.random(global_ids.shape) < 0.8, global_ids, n_seq)
    required = {f"{name}.weight": (d_model, d_model) for name in LOCAL + GLOBAL}
    params = draw(strategies.params(required, {f"{name}.bias": (d_model,) for name in LOCAL + GLOBAL}))
    mask = draw(st.none() | strategies.masks((n_batch, 1, 1, n_seq), may_broadcast=False))
    x = draw(strategies.floating((n_batch, n_seq, d_model)))
    settings = {"n_head": n_head, "reach": draw(st.integers(0, 6)), "mask": mask}
    return Call({"x": x, "global_ids": global_ids}, params, settings, draw(SEEDS))


@st.composite
def shift_calls(draw):
    return Call({"x": draw(strategies.floating(draw(strategies.shapes(min_rank=2))))}, None, {}, draw(SEEDS))


@st.composite
def relative_calls(draw):
    n_batch, n_head, n_query, n_key, d_head = draw(strategies.sizes(5, max_side=5))
    shapes = {
        "q": (n_batch, n_head, n_query, d_head), "k": (n_batch, n_head, n_key, d_head),
        "v": (n_batch, n_head, n_key, draw(st.integers(1, 5))), "r": (n_head, n_key, d_head),
        "content_bias": (n_head, d_head), "position_bias": (n_head, d_head),
    }  # fmt: skip
    arrays = {name: draw(strategies.floating(shape)) for name, shape in shapes.items()}
    mask = draw(st.none() | strategies.masks((n_batch, n_head, n_query, n_key)))
    return Call(arrays, None, {"mask": mask, "scale": draw(st.none() | st.just(0.3))}, draw(SEEDS))


@st.composite
def relative_layer_calls(draw):
    n_batch, n_seq, n_memory, n_head, d_head = draw(
        # As many positions as sequences would make the encodings look like something with a batch.
        strategies.sizes(5, max_side=5).filter(lambda sizes: sizes[0] != sizes[1] + sizes[2])
    )
    d_model, d_inner, n_both = draw(st.integers(1, 6)), n_head * d_head, n_memory + n_seq
    arrays = {
        "x": draw(strategies.floating((n_batch, n_seq, d_model))),
        "memory": draw(strategies.floating((n_batch, n_memory, d_model))),
        "relative": draw(strategies.floating((n_both, d_model))),
    }
    required = {
        "qkv_net.weight": (3 * d_inner, d_model), "r_net.weight": (d_inner, d_model),
        "o_net.weight": (d_model, d_inner), "r_w_bias": (n_head, d_head), "r_r_bias": (n_head, d_head),
    }  # fmt: skip
    mask = draw(st.none() | strategies.masks((n_batch, n_head, n_seq, n_both)))
    return Call(arrays, draw(strategies.params(required)), {"n_head": n_head, "mask": mask}, draw(SEEDS))
