"""How to draw calls of GPT-1, GPT-2 and GPT-3."""

from hypothesis import strategies as st

from compare import strategies
from refimpl.models.gpt.config import GptConfig
from tests.properties.component import Call
from tests.properties.draw_layers import SEEDS

HEADS = {"head.weight": "vocab_size", "classifier.weight": "n_label"}


@st.composite
def gpt_configs(draw):
    n_head, d_head, d_ff, n_label, vocab_size = draw(strategies.sizes(5, min_side=2, max_side=7))
    return GptConfig(
        vocab_size=vocab_size,
        n_position=draw(st.integers(4, 6)),
        d_model=min(n_head, 3) * min(d_head, 4),
        n_head=min(n_head, 3),
        n_layer=draw(st.integers(1, 2)),
        d_ff=d_ff,
        norm_first=draw(st.booleans()),
        window=draw(st.none() | st.integers(1, 3)),
        norm_eps=draw(st.sampled_from([1e-5, 1e-3])),
        activation=draw(st.sampled_from(["gelu_tanh", "gelu", "relu", "silu"])),
        tied=draw(st.booleans()),
        n_label=n_label,
    )


def embedding_shapes(config):
    return {"token.weight": (config.vocab_size, config.d_model), "position.weight": (config.n_position, config.d_model)}


def gpt_shapes(config, *heads):
    """Shapes by key of the backbone and of some heads; a tied one has no parameter."""
    required, optional = strategies.block_shapes(config.d_model, config.d_ff)
    block = {**required, **optional}
    norm = {"norm.weight": (config.d_model,), "norm.bias": (config.d_model,)} if config.norm_first else {}
    there = [key for key in heads if not (key == "head.weight" and config.tied)]
    return {
        **embedding_shapes(config),
        **{f"layers.{i}.{key}": shape for i in range(config.n_layer) for key, shape in block.items()},
        **norm,
        **{key: (getattr(config, HEADS[key]), config.d_model) for key in there},
    }


@st.composite
def gpt_calls(draw, *heads):
    """Padding may stand anywhere, and fill a row."""
    config = draw(gpt_configs())
    n_batch, n_seq = draw(st.sampled_from([(1, 4), (3, 2), (2, 3), (2, 1)]))
    token_ids = draw(strategies.ids((n_batch, n_seq), config.vocab_size))
    settings = {
        "config": config,
        "mask": draw(st.none() | strategies.masks((n_batch, n_seq), may_broadcast=False)),
        "position_ids": draw(st.none() | strategies.ids((n_batch, n_seq), config.n_position)),
    }
    return Call({"token_ids": token_ids}, draw(strategies.params(gpt_shapes(config, *heads))), settings, draw(SEEDS))


@st.composite
def gpt_embeddings_calls(draw):
    config = draw(gpt_configs())
    shape = draw(strategies.shapes(min_rank=2, max_rank=2))
    arrays = {"token_ids": draw(strategies.ids(shape, config.vocab_size))}
    settings = {"position_ids": draw(strategies.ids(shape, config.n_position))}
    return Call(arrays, draw(strategies.params(embedding_shapes(config))), settings, draw(SEEDS))
