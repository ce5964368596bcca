"""How to draw calls of blocks and models."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.models.bert.config import ACTIVATIONS, BertConfig
from tests.properties.component import Call
from tests.properties.draw_attention import head_settings
from tests.properties.draw_layers import SCALES, SEEDS, ids_but

EPS = st.sampled_from([1e-5, 1e-12])


@st.composite
def feed_forward_calls(draw, activations):
    shape = draw(strategies.shapes())
    x = draw(strategies.floating(shape, scale=draw(SCALES)))
    params = draw(strategies.params(*strategies.feed_forward_shapes(shape[-1], draw(st.integers(1, 8)))))
    return Call({"x": x}, params, {"activation": draw(activations)}, draw(SEEDS))


@st.composite
def block_calls(draw):
    x, d_ff, settings = draw(_block_input())
    params = draw(strategies.params(*strategies.block_shapes(x.shape[-1], d_ff)))
    return Call({"x": x}, params, settings, draw(SEEDS))


@st.composite
def encoder_calls(draw):
    x, d_ff, settings = draw(_block_input())
    n_layer = draw(st.integers(1, 2))
    shapes = strategies.block_shapes(x.shape[-1], d_ff)
    layers = [draw(strategies.params(*strategies.scoped(f"layers.{i}.", shapes))) for i in range(n_layer)]
    params = {key: value for layer in layers for key, value in layer.items()}
    block = draw(st.sampled_from([post_norm_block, pre_norm_block]))
    return Call({"x": x}, params, settings | {"n_layer": n_layer, "block": block}, draw(SEEDS))


@st.composite
def _block_input(draw):
    n_batch, n_seq, n_head, d_head, d_ff = draw(strategies.sizes(5, max_side=5))
    # Two features or more: of a single one, a layer norm leaves nothing but rounding.
    d_model = n_head * max(d_head, 3)
    x = draw(strategies.floating((n_batch, n_seq, d_model)))
    settings = {"activation": draw(st.sampled_from(ACTIVATIONS)), "eps": draw(EPS)}
    return x, d_ff, settings | draw(head_settings(n_head, (n_batch, n_seq, n_seq)))


@st.composite
def configs(draw):
    n_head, d_head, d_ff, n_segment, n_label, vocab_size = draw(strategies.sizes(6, min_side=2, max_side=9))
    return BertConfig(
        vocab_size=vocab_size,
        n_position=draw(st.integers(4, 6)),
        n_segment=n_segment,
        d_model=min(n_head, 3) * min(d_head, 4),
        n_head=min(n_head, 3),
        n_layer=draw(st.integers(1, 2)),
        d_ff=d_ff,
        norm_eps=draw(EPS),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        n_label=n_label,
        pad_id=draw(st.integers(0, 1)),
    )


@st.composite
def bert_calls(draw, groups, *, with_mask=True, prefixed=True):
    """`groups` are those of `bert_shapes` that the component has."""
    config = draw(configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3), (2, 1)]))
    arrays = {
        "token_ids": draw(ids_but((n_batch, n_seq), config.vocab_size, config.pad_id)),
        "segment_ids": draw(strategies.ids((n_batch, n_seq), config.n_segment)),
    }
    settings = {"config": config}
    if with_mask:
        settings["mask"] = draw(head_settings(config.n_head, (n_batch, n_seq, n_seq)))["mask"]
    return Call(arrays, draw(bert_params(config, groups, prefixed=prefixed)), settings, draw(SEEDS))


def bert_params(config, groups, *, prefixed=True):
    shapes = strategies.bert_shapes(config)
    keyed = {(group if prefixed else "") + key: shape for group in groups for key, shape in shapes[group].items()}
    return strategies.params(keyed)


@st.composite
def pooler_calls(draw):
    shape = draw(strategies.shapes(min_rank=3, max_rank=3))
    x = draw(strategies.floating(shape, scale=draw(SCALES)))
    d_model = shape[-1]
    return Call({"x": x}, draw(strategies.params(*strategies.linear_shapes(d_model, d_model))), {}, draw(SEEDS))


@st.composite
def masked_token_head_calls(draw):
    config = draw(configs())
    d_model = config.d_model
    x = draw(strategies.floating((*draw(strategies.shapes(min_rank=1, max_rank=2, max_side=4)), d_model)))
    shapes = {**strategies.bert_shapes(config)["mlm."], "decoder.weight": (config.vocab_size, d_model)}
    settings = {"activation": config.activation, "eps": config.norm_eps}
    return Call({"x": x}, draw(strategies.params(shapes)), settings, draw(SEEDS))
