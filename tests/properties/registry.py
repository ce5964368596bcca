"""Every component, how its arguments are drawn, and which of them have a gradient.

Further families of components stand in files of their own, ``family_*.py``, each with a list COMPONENTS.
"""

import importlib
from pathlib import Path

from hypothesis import strategies as st

from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.multi_head import cross_attention, multi_head_attention, self_attention
from refimpl.blocks.encoder import encoder
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.dropout import dropout
from refimpl.layers.embedding import embedding
from refimpl.layers.gelu import gelu, gelu_tanh
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.layers.relu import relu
from refimpl.layers.softmax import log_softmax, softmax
from refimpl.layers.tanh import tanh
from refimpl.models.bert.heads import (
    bert_for_pretraining,
    bert_for_sequence_classification,
    masked_token_head,
    pooler,
)
from refimpl.models.bert.model import bert, bert_embeddings
from refimpl.positions.learned import learned_positions
from tests.properties import draw_attention, draw_layers, draw_models
from tests.properties.component import Component

SMOOTH = st.sampled_from(["gelu", "gelu_tanh", "tanh"])
ACTIVATIONS = SMOOTH | st.just("relu")
BACKBONE = ("embeddings.", "encoder.")

COMPONENTS = [
    Component(linear, draw_layers.linear_calls(), ("x", "params")),
    Component(embedding, draw_layers.embedding_calls(), ("params",), curved=False, batch_rank=1),
    Component(softmax, draw_layers.softmax_calls(), ("x",)),
    Component(log_softmax, draw_layers.log_softmax_calls(), ("x",)),
    Component(layer_norm, draw_layers.layer_norm_calls(), ("x", "params")),
    Component(relu, draw_layers.pointwise_calls(), ("x",), curved=False, batch_rank=1),
    Component(tanh, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(gelu, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(gelu_tanh, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(dropout, draw_layers.dropout_calls(), ("x",), curved=False, batch_rank=1),
    Component(cross_entropy, draw_layers.cross_entropy_calls(), ("logits",)),
    Component(
        learned_positions, draw_layers.learned_positions_calls(), ("x", "params"), curved=False, batch_rank=3
    ),
    Component(attention_weights, draw_attention.attention_weights_calls(), ("q", "k", "bias"), batch_rank=3),
    Component(attention, draw_attention.attention_calls(), ("q", "k", "v", "bias"), batch_rank=3),
    Component(multi_head_attention, draw_attention.multi_head_calls(), ("q", "k", "v", "params"), weight=2),
    Component(self_attention, draw_attention.self_attention_calls(), ("x", "params"), weight=2),
    Component(cross_attention, draw_attention.cross_attention_calls(), ("x", "memory", "params"), weight=2),
    Component(feed_forward, draw_models.feed_forward_calls(ACTIVATIONS), ("x", "params"), curved=False),
    Component(post_norm_block, draw_models.block_calls(), ("x", "params"), curved=False, weight=4),
    Component(pre_norm_block, draw_models.block_calls(), ("x", "params"), curved=False, weight=4),
    Component(encoder, draw_models.encoder_calls(), ("x", "params"), curved=False, weight=6),
    Component(
        bert_embeddings,
        draw_models.bert_calls(["embeddings."], with_mask=False, prefixed=False),
        ("params",),
        weight=2,
    ),
    Component(bert, draw_models.bert_calls(BACKBONE), ("params",), curved=False, weight=6),
    Component(pooler, draw_models.pooler_calls(), ("x", "params")),
    Component(masked_token_head, draw_models.masked_token_head_calls(), ("x", "params"), curved=False, weight=2),
    Component(
        bert_for_pretraining,
        draw_models.bert_calls([*BACKBONE, "pooler.", "mlm.", "nsp."]),
        ("params",),
        curved=False,
        weight=6,
    ),
    Component(
        bert_for_sequence_classification,
        draw_models.bert_calls([*BACKBONE, "pooler.", "classifier."]),
        ("params",),
        curved=False,
        weight=6,
    ),
]

for path in sorted(Path(__file__).parent.glob("family_*.py")):
    COMPONENTS += importlib.import_module(f"tests.properties.{path.stem}").COMPONENTS

# Where their second derivatives exist.
CURVED = [component for component in COMPONENTS if component.curved] + [
    Component(feed_forward, draw_models.feed_forward_calls(SMOOTH), ("x", "params")),
]


def component_of(function):
    """Look up the entry of a component."""
    return next(component for component in COMPONENTS if component.function is function)
