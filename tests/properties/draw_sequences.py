"""How to draw calls of what reads one sequence and writes another."""

from hypothesis import strategies as st

from compare import strategies
from compare.cases.transformer import transformer_shapes
from refimpl.checkpoints.families.encoder_decoder.names import encoder_decoder_rows
from refimpl.models.encoder_decoder.config import ACTIVATIONS, POSITIONS, EncoderDecoderConfig
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from tests.properties.component import Call
from tests.properties.draw_attention import head_settings
from tests.properties.draw_layers import SEEDS, ids_but
from tests.properties.draw_models import EPS

SIZES = [(1, 4, 3), (3, 2, 4), (2, 3, 1), (2, 1, 3)]  # n_batch, n_source, n_target


@st.composite
def decoder_block_calls(draw):
    n_batch, n_target, n_source, n_head, d_ff = draw(strategies.sizes(5, max_side=5))
    d_model = n_head * 3
    arrays = {"x": draw(strategies.floating((n_batch, n_target, d_model)))}
    arrays["memory"] = draw(strategies.floating((n_batch, n_source, d_model)))
    params = draw(strategies.params(*strategies.decoder_block_shapes(d_model, d_ff)))
    return Call(arrays, params, draw(_masks(n_head, n_batch, n_source, n_target)), draw(SEEDS))


@st.composite
def _masks(draw, n_head, n_batch, n_source, n_target):
    settings = {"activation": draw(st.sampled_from(ACTIVATIONS)), "eps": draw(EPS)}
    memory_mask = draw(head_settings(n_head, (n_batch, n_target, n_source)))["mask"]
    return settings | draw(head_settings(n_head, (n_batch, n_target, n_target))) | {"memory_mask": memory_mask}


@st.composite
def transformer_calls(draw):
    n_batch, n_source, n_target = draw(st.sampled_from(SIZES))
    n_head, n_layer, n_decoder_layer = draw(st.sampled_from([(1, 1, 1), (2, 1, 2), (2, 2, 1)]))
    d_model = 3 * n_head
    arrays = {
        "source": draw(strategies.floating((n_batch, n_source, d_model))),
        "target": draw(strategies.floating((n_batch, n_target, d_model))),
    }
    settings = draw(_masks(n_head, n_batch, n_source, n_target))
    settings["target_mask"] = settings.pop("mask")
    settings |= draw(head_settings(n_head, (n_batch, n_source, n_source)))
    settings |= {"n_layer": n_layer, "n_decoder_layer": n_decoder_layer, "norm_first": draw(st.booleans())}
    params = draw(strategies.params(transformer_shapes(d_model, 5, n_layer, n_decoder_layer)))
    return Call(arrays, params, settings, draw(SEEDS))


@st.composite
def configs(draw):
    positions = draw(st.sampled_from(POSITIONS))
    n_layer, n_decoder_layer = draw(st.sampled_from([(1, 1), (1, 2), (2, 1)]))
    return EncoderDecoderConfig(
        vocab_size=draw(st.integers(3, 9)), n_position=draw(st.integers(4, 6)), d_model=6,
        n_head=draw(st.sampled_from([1, 2])), n_decoder_head=draw(st.sampled_from([1, 3])), n_layer=n_layer,
        n_decoder_layer=n_decoder_layer, d_ff=draw(st.integers(2, 6)), d_decoder_ff=draw(st.integers(2, 6)),
        positions=positions, position_offset=draw(st.sampled_from([0, 2])) if positions == "learned" else 0,
        scale_embedding=draw(st.booleans()), embedding_norm=draw(st.booleans()), norm_first=draw(st.booleans()),
        final_norm=draw(st.booleans()), norm_eps=draw(EPS), activation=draw(st.sampled_from(ACTIVATIONS)),
        pad_id=draw(st.integers(0, 1)), start_id=2,
    )  # fmt: skip


def params_of(config, groups):
    shapes = {row.ours: row.our_shape for row in encoder_decoder_rows(config)}
    return strategies.params({key: shape for key, shape in shapes.items() if groups == "all" or key != "head.bias"})


@st.composite
def encoder_decoder_calls(draw, *, groups="backbone", target="target_ids"):
    """No padding among the tokens: its row is read and never trained."""
    config = draw(configs())
    n_batch, n_source, n_target = draw(st.sampled_from(SIZES))
    arrays = {
        "source_ids": draw(ids_but((n_batch, n_source), config.vocab_size, config.pad_id)),
        target: draw(ids_but((n_batch, n_target), config.vocab_size, config.pad_id)),
    }
    masks = {"mask": draw(st.none() | strategies.masks((n_batch, n_source), may_broadcast=False))}
    if target == "target_ids":
        masks["target_mask"] = draw(st.none() | strategies.masks((n_batch, n_target), may_broadcast=False))
    lm = {"lm": encoder_decoder_lm} if target == "labels" else {}
    return Call(arrays, draw(params_of(config, groups)), {"config": config, **lm, **masks}, draw(SEEDS))


@st.composite
def embedded_tokens_calls(draw):
    config = draw(configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3)]))
    arrays = {"token_ids": draw(ids_but((n_batch, n_seq), config.vocab_size, config.pad_id))}
    shapes = {"token.weight": (config.vocab_size, config.d_model)}
    if config.positions == "learned":
        shapes["position.weight"] = (config.n_position + config.position_offset, config.d_model)
    if config.embedding_norm:
        shapes |= {"embedding_norm.weight": (config.d_model,), "embedding_norm.bias": (config.d_model,)}
    position_ids = draw(st.none() | strategies.ids((n_batch, n_seq), config.n_position))
    settings = {"config": config, "position_ids": position_ids}
    return Call(arrays, draw(strategies.params(shapes)), settings, draw(SEEDS))
