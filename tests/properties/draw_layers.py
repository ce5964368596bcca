"""How to draw calls of layers and positions."""

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from tests.properties.component import Call

SEEDS = st.integers(0, 2**32 - 1)
SCALES = st.sampled_from([0.1, 1.0, 10.0])


@st.composite
def features(draw, *, min_rank=2, max_rank=4):
    return draw(strategies.floating(draw(strategies.shapes(min_rank=min_rank, max_rank=max_rank)), scale=draw(SCALES)))


@st.composite
def pointwise_calls(draw):
    return Call({"x": draw(features(min_rank=1))}, None, {}, draw(SEEDS))


@st.composite
def softmax_calls(draw):
    x = draw(features(min_rank=2))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    return Call({"x": x}, None, {"axis": axis, "mask": draw(st.none() | strategies.masks(x.shape))}, draw(SEEDS))


@st.composite
def log_softmax_calls(draw):
    x = draw(features(min_rank=1))
    return Call({"x": x}, None, {"axis": draw(st.integers(-x.ndim, x.ndim - 1))}, draw(SEEDS))


@st.composite
def linear_calls(draw):
    x = draw(features(min_rank=1))
    d_out = draw(st.integers(1, 7))
    return Call({"x": x}, draw(strategies.params(*strategies.linear_shapes(x.shape[-1], d_out))), {}, draw(SEEDS))


@st.composite
def layer_norm_calls(draw):
    x = draw(features(min_rank=1))
    params = draw(strategies.params(*strategies.norm_shapes(x.shape[-1])))
    return Call({"x": x}, params, {"eps": draw(st.sampled_from([1e-5, 1e-12, 0.1]))}, draw(SEEDS))


@st.composite
def dropout_calls(draw):
    x = draw(features(min_rank=2))
    keep = draw(strategies.masks(x.shape, may_broadcast=False))
    return Call({"x": x}, None, {"keep": keep, "rate": draw(st.sampled_from([0.0, 0.1, 0.5]))}, draw(SEEDS))


@st.composite
def cross_entropy_calls(draw):
    logits = draw(features(min_rank=1))
    n_class = logits.shape[-1]
    ignore_index = draw(st.sampled_from([-100, 0]))
    targets = draw(strategies.ids(logits.shape[:-1], n_class))
    ignored = draw(strategies.generators()).random(targets.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    settings = {
        "ignore_index": ignore_index,
        "label_smoothing": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "z_loss": draw(st.sampled_from([0.0, 0.01])),
        "class_weight": draw(st.none() | st.tuples(*[st.sampled_from([0.0, 0.3, 1.0, 2.5])] * n_class)),
        "reduction": draw(st.sampled_from(["mean", "sum", "none"])),
    }
    arrays = {"logits": logits, "targets": np.where(ignored, ignore_index, targets)}
    return Call(arrays, None, settings, draw(SEEDS))


@st.composite
def embedding_calls(draw):
    n_row, d_model = draw(strategies.sizes(2, min_side=2))
    shape = draw(strategies.shapes(min_rank=1, max_rank=3))
    padding_id = draw(st.none() | st.integers(0, n_row - 1))
    ids = draw(strategies.ids(shape, n_row) if padding_id is None else ids_but(shape, n_row, padding_id))
    params = draw(strategies.params({"weight": (n_row, d_model)}))
    return Call({"ids": ids}, params, {"padding_id": padding_id}, draw(SEEDS))


def ids_but(shape, n, padding_id):
    """Ids other than padding, whose rows are read but never trained: there the gradient is no derivative."""
    return strategies.ids(shape, n - 1).map(lambda ids: ids + (ids >= padding_id))


@st.composite
def learned_positions_calls(draw):
    x = draw(features(min_rank=2))
    offset, n_after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    params = draw(strategies.params({"weight": (offset + x.shape[-2] + n_after, x.shape[-1])}))
    return Call({"x": x}, params, {"offset": offset}, draw(SEEDS))
