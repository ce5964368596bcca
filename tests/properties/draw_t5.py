"""How to draw calls of T5 and its parts."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.checkpoints.families.t5.names import t5_rows
from refimpl.models.t5.config import ACTIVATIONS, T5Config
from tests.properties.component import Call
from tests.properties.draw_attention import head_settings
from tests.properties.draw_layers import SEEDS
from tests.properties.draw_models import EPS
from tests.properties.draw_sequences import SIZES


@st.composite
def biased_attention_calls(draw):
    n_batch, n_query, n_key, n_head, d_model = draw(strategies.sizes(5, max_side=5))
    d_memory, d_inner = draw(strategies.sizes(2))[0], n_head * draw(st.integers(1, 4))
    arrays = {
        "x": draw(strategies.floating((n_batch, n_query, d_model))),
        "memory": draw(strategies.floating((n_batch, n_key, d_memory))),
        "bias": draw(strategies.floating((n_head, n_query, n_key))),
    }
    params = draw(strategies.params({
        "q_proj.weight": (d_inner, d_model), "k_proj.weight": (d_inner, d_memory),
        "v_proj.weight": (d_inner, d_memory), "o_proj.weight": (d_model, d_inner),
    }))  # fmt: skip
    return Call(arrays, params, draw(head_settings(n_head, (n_batch, n_query, n_key))), draw(SEEDS))


@st.composite
def configs(draw):
    n_layer, n_decoder_layer = draw(st.sampled_from([(1, 1), (1, 2), (2, 1)]))
    gated = draw(st.booleans())
    return T5Config(
        vocab_size=draw(st.integers(3, 9)), d_model=draw(st.sampled_from([3, 5])), d_head=draw(st.sampled_from([2, 3])),
        n_head=draw(st.sampled_from([1, 2])), n_layer=n_layer, n_decoder_layer=n_decoder_layer,
        d_ff=draw(st.integers(2, 6)), n_bucket=4, max_distance=4, norm_eps=draw(EPS),
        activation=draw(st.sampled_from(ACTIVATIONS)), gated=gated, scale_logits=draw(st.booleans()), start_id=1,
    )  # fmt: skip


def shapes_of(config, *, groups=("backbone",)):
    return {row.ours: row.our_shape for row in t5_rows(config) if row.group in groups}


def half_shapes(config, half):
    shapes = shapes_of(config)
    own = {key.removeprefix(half): shape for key, shape in shapes.items() if key.startswith(half)}
    return {"embedding.weight": shapes["embedding.weight"], **own}



@st.composite
def block_calls(draw, half):
    config = draw(configs())
    n_batch, n_source, n_target = draw(st.sampled_from(SIZES))
    n_seq = n_target if half == "decoder." else n_source
    prefix = f"{half}layers.0."
    shapes = {key.removeprefix(prefix): shape for key, shape in shapes_of(config).items() if key.startswith(prefix)}
    arrays = {"x": draw(strategies.floating((n_batch, n_seq, config.d_model)))}
    settings = draw(head_settings(config.n_head, (n_batch, n_seq, n_seq)))
    if half == "decoder.":
        arrays["memory"] = draw(strategies.floating((n_batch, n_source, config.d_model)))
        settings["memory_mask"] = draw(head_settings(config.n_head, (n_batch, n_seq, n_source)))["mask"]
    arrays["bias"] = draw(strategies.floating((config.n_head, n_seq, n_seq)))
    settings |= {"activation": config.activation, "gated": config.gated, "eps": config.norm_eps}
    return Call(arrays, draw(strategies.params(shapes)), settings, draw(SEEDS))


@st.composite
def encoder_calls(draw):
    config = draw(configs())
    n_batch, n_seq, _ = draw(st.sampled_from(SIZES))
    arrays = {"token_ids": draw(strategies.ids((n_batch, n_seq), config.vocab_size))}
    settings = {"config": config, "mask": draw(token_masks(n_batch, n_seq))}
    return Call(arrays, draw(strategies.params(half_shapes(config, "encoder."))), settings, draw(SEEDS))


@st.composite
def decoder_calls(draw):
    config = draw(configs())
    n_batch, n_source, n_target = draw(st.sampled_from(SIZES))
    arrays = {
        "token_ids": draw(strategies.ids((n_batch, n_target), config.vocab_size)),
        "memory": draw(strategies.floating((n_batch, n_source, config.d_model))),
    }
    settings = {"config": config, "mask": draw(token_masks(n_batch, n_target))}
    return Call(arrays, draw(strategies.params(half_shapes(config, "decoder."))), settings, draw(SEEDS))


@st.composite
def t5_calls(draw, *, may_untie=False):
    config = draw(configs())
    n_batch, n_source, n_target = draw(st.sampled_from(SIZES))
    arrays = {
        "source_ids": draw(strategies.ids((n_batch, n_source), config.vocab_size)),
        "target_ids": draw(strategies.ids((n_batch, n_target), config.vocab_size)),
    }
    masks = {"mask": draw(token_masks(n_batch, n_source)), "target_mask": draw(token_masks(n_batch, n_target))}
    groups = ("backbone", "head") if may_untie and draw(st.booleans()) else ("backbone",)
    params = draw(strategies.params(shapes_of(config, groups=groups)))
    return Call(arrays, params, {"config": config, **masks}, draw(SEEDS))


def token_masks(n_batch, n_seq):
    return st.none() | strategies.masks((n_batch, n_seq), may_broadcast=False)
