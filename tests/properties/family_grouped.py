"""Attention with grouped heads, latents, sinks or kernel features, and how to draw its arguments."""

from refimpl.attention.grouped.attention import grouped_query_attention
from refimpl.attention.grouped.layer import grouped_query_self_attention
from refimpl.attention.latent.layer import absorbed_latent_attention, latent_attention
from refimpl.attention.linear.attention import causal_linear_attention, elu_plus_one, linear_attention
from refimpl.attention.linear.recurrent import recurrent_linear_attention
from refimpl.attention.sinks import sink_attention
from refimpl.attention.with_weights import attention_with_weights
from tests.properties import draw_grouped, draw_layers
from tests.properties.component import Component

STATE = ("memory", "normaliser")

COMPONENTS = [
    Component(grouped_query_attention, draw_grouped.grouped_query_calls(), ("q", "k", "v", "bias"), batch_rank=4),
    Component(grouped_query_self_attention, draw_grouped.grouped_query_layer_calls(), ("x", "params"), weight=3),
    Component(latent_attention, draw_grouped.latent_calls(), ("x", "params"), weight=4),
    Component(absorbed_latent_attention, draw_grouped.latent_calls(), ("x", "params"), weight=4),
    Component(sink_attention, draw_grouped.sink_calls(), ("q", "k", "v", "sink", "bias"), batch_rank=4),
    Component(attention_with_weights, draw_grouped.with_weights_calls(), ("q", "k", "v", "bias"), batch_rank=3),
    Component(elu_plus_one, draw_layers.pointwise_calls(), ("x",), batch_rank=1),
    Component(linear_attention, draw_grouped.linear_attention_calls(), ("q", "k", "v"), batch_rank=3),
    Component(causal_linear_attention, draw_grouped.linear_attention_calls(), ("q", "k", "v"), batch_rank=3),
    Component(
        recurrent_linear_attention,
        draw_grouped.linear_attention_calls(recurrent=True),
        ("q", "k", "v", *STATE),
        batch_rank=3,
        weight=2,
    ),
]
