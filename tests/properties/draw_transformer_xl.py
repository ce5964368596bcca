"""How to draw calls of adaptive embeddings and softmaxes, and of Transformer-XL."""

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from compare.cases.adaptive_softmax import softmax_shapes, table_shapes
from compare.cases.relative_block import shapes_of_block
from refimpl.blocks.relative.block import relative_post_norm_block, relative_pre_norm_block
from refimpl.checkpoints.families.transformer_xl.names import transformer_xl_rows
from refimpl.models.transformer_xl.config import TransformerXLConfig
from tests.properties.component import Call
from tests.properties.draw_layers import SCALES, SEEDS

EPS = st.sampled_from([1e-5, 1e-3])
BLOCKS = st.sampled_from([relative_post_norm_block, relative_pre_norm_block])


@st.composite
def cluster_sizes(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    d_model = draw(st.integers(1, 5))
    widths = tuple(draw(st.integers(1, 5)) for _ in sizes)
    ends = np.cumsum(sizes).tolist()
    return {"cutoffs": tuple(ends[:-1]), "n_token": ends[-1], "d_model": d_model, "widths": widths}


@st.composite
def embedding_calls(draw):
    sizes = draw(cluster_sizes())
    ids = draw(strategies.ids(draw(strategies.shapes(min_rank=1, max_rank=3, max_side=4)), sizes["n_token"]))
    params = draw(strategies.params(table_shapes(**sizes)))
    return Call({"ids": ids}, params, {"cutoffs": sizes["cutoffs"]}, draw(SEEDS))


@st.composite
def softmax_calls(draw, *, with_targets=False):
    sizes = draw(cluster_sizes())
    lead = draw(strategies.shapes(min_rank=1, max_rank=2, max_side=4))
    arrays = {"x": draw(strategies.floating((*lead, sizes["d_model"]), scale=draw(SCALES)))}
    if with_targets:
        ignored = draw(strategies.generators()).random(lead) < 0.2
        arrays["targets"] = np.where(ignored, -100, draw(strategies.ids(lead, sizes["n_token"])))
    params = draw(strategies.params(softmax_shapes(**sizes, biased=draw(st.booleans()))))
    return Call(arrays, params, {"cutoffs": sizes["cutoffs"]}, draw(SEEDS))


@st.composite
def block_calls(draw):
    # As many positions as sequences would make the encodings look like something with a batch.
    different = strategies.sizes(6, max_side=6).filter(lambda sizes: sizes[0] != sizes[1] + sizes[2])
    n_batch, n_seq, n_memory, n_head, d_head, d_ff = draw(different)
    d_model = draw(st.integers(3, 6))  # of one or two features, a layer norm leaves little but rounding
    arrays = {
        "x": draw(strategies.floating((n_batch, n_seq, d_model))),
        "memory": draw(strategies.floating((n_batch, n_memory, d_model))),
        "relative": draw(strategies.floating((n_memory + n_seq, d_model))),
    }
    mask = draw(st.none() | strategies.masks((n_batch, n_head, n_seq, n_memory + n_seq)))
    params = draw(strategies.params(shapes_of_block(d_model, n_head, d_head, d_ff)))
    return Call(arrays, params, {"n_head": n_head, "eps": draw(EPS), "mask": mask}, draw(SEEDS))


@st.composite
def stack_calls(draw):
    call = draw(block_calls())
    n_layer, shared = draw(st.integers(1, 2)), draw(st.booleans())
    biases = {key: x for key, x in call.params.items() if key.endswith("_bias") and shared}
    own = {key: x for key, x in call.params.items() if key not in biases}
    params = {f"layers.{i}.{key}": (1.0 + i) * x for i in range(n_layer) for key, x in own.items()}
    params |= {key.removeprefix("self_attn."): x for key, x in biases.items()}
    memory = draw(strategies.floating((n_layer, *call.arrays["memory"].shape)))
    settings = call.settings | {"n_layer": n_layer, "block": draw(BLOCKS)}
    return Call(call.arrays | {"memory": memory}, params, settings, draw(SEEDS))


@st.composite
def memory_calls(draw):
    n_layer, n_batch, n_before, n_seq, d_model = draw(strategies.sizes(5, max_side=6))
    arrays = {
        "memory": draw(strategies.floating((n_layer, n_batch, n_before, d_model))),
        "x": draw(strategies.floating((n_layer, n_batch, n_seq, d_model))),
    }
    return Call(arrays, None, {"n_memory": draw(st.integers(1, 9))}, draw(SEEDS))


@st.composite
def configs(draw):
    n_head, d_head, d_ff = draw(strategies.sizes(3, max_side=4))
    div_val = draw(st.integers(1, 2))
    return TransformerXLConfig(
        vocab_size=9, cutoffs=draw(st.sampled_from([(), (3,), (2, 5)])), d_model=2 * draw(st.integers(2, 3)),
        d_embed=draw(st.integers(4, 6)), n_head=n_head, d_head=d_head, n_layer=draw(st.integers(1, 2)), d_ff=d_ff,
        n_memory=draw(st.integers(1, 5)), div_val=div_val, pre_norm=draw(st.booleans()), norm_eps=draw(EPS),
        same_length=draw(st.booleans()), clamp_len=draw(st.sampled_from([0, 2])), own_biases=draw(st.booleans()),
        tie_projections=draw(st.booleans()),
    )  # fmt: skip


@st.composite
def model_calls(draw, *, groups=("backbone",), with_targets=False, settings=None):
    config = draw(configs())
    n_batch, n_seq, n_before = draw(st.sampled_from([(1, 4, 2), (2, 3, 4), (3, 1, 0), (2, 5, 1)]))
    arrays = {"token_ids": draw(strategies.ids((n_batch, n_seq), config.vocab_size))}
    if with_targets:
        ignored = draw(strategies.masks((n_batch, n_seq), may_broadcast=False))
        arrays["targets"] = np.where(ignored, -100, draw(strategies.ids((n_batch, n_seq), config.vocab_size)))
    arrays["memory"] = draw(strategies.floating((config.n_layer, n_batch, n_before, config.d_model)))
    rows = [row for row in transformer_xl_rows(config) if row.group in groups]
    params = draw(strategies.params({row.ours: row.our_shape for row in rows}))
    if settings is None:
        mask = draw(st.none() | strategies.masks((n_batch, config.n_head, n_seq, n_before + n_seq)))
        return Call(arrays, params, {"config": config, "mask": mask}, draw(SEEDS))
    return Call(arrays, params, {"config": config, **settings}, draw(SEEDS))
