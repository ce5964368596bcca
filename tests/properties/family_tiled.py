"""Attention in tiles, in bands and by distance."""

from hypothesis import strategies as st

from refimpl.attention.relative.attention import relative_attention
from refimpl.attention.relative.layer import relative_self_attention
from refimpl.attention.relative.shift import relative_shift
from refimpl.attention.sparse.alternating import alternating_attention
from refimpl.attention.sparse.band import banded, banded_attention
from refimpl.attention.sparse.gather import gather_rows
from refimpl.attention.sparse.longformer import longformer_attention
from refimpl.attention.sparse.sliding_window import sliding_window_attention
from refimpl.attention.sparse.strided import strided_attention
from refimpl.attention.tiled.attention import tiled_attention
from refimpl.attention.tiled.merge import merge_attention
from refimpl.attention.tiled.split_kv import split_kv_attention
from tests.properties import draw_tiled
from tests.properties.component import Component

QKV = ("q", "k", "v")
RELATIVE = ("r", "content_bias", "position_bias")

COMPONENTS = [
    Component(tiled_attention, draw_tiled.tiled_calls(), (*QKV, "bias"), batch_rank=4, weight=3),
    Component(split_kv_attention, draw_tiled.split_kv_calls(), QKV, batch_rank=4, weight=3),
    Component(merge_attention, draw_tiled.merge_calls(), ("outputs", "lses"), batch_rank=9),
    Component(banded, draw_tiled.band_layout_calls(), ("x",), curved=False, batch_rank=3),
    Component(banded_attention, draw_tiled.banded_calls(), QKV, batch_rank=4, weight=3),
    Component(sliding_window_attention, draw_tiled.window_calls(), QKV, batch_rank=4, weight=3),
    Component(strided_attention, draw_tiled.strided_calls(), QKV, batch_rank=4, weight=4),
    Component(
        alternating_attention, draw_tiled.window_calls(layer=st.integers(0, 3)), QKV, batch_rank=4, weight=3
    ),
    Component(gather_rows, draw_tiled.gather_calls(), ("x",), curved=False, batch_rank=3),
    Component(longformer_attention, draw_tiled.longformer_calls(), ("x", "params"), batch_rank=3, weight=6),
    Component(relative_shift, draw_tiled.shift_calls(), ("x",), curved=False, batch_rank=3),
    Component(relative_attention, draw_tiled.relative_calls(), (*QKV, *RELATIVE), batch_rank=4, weight=2),
    Component(
        relative_self_attention, draw_tiled.relative_layer_calls(), ("x", "memory", "relative", "params"),
        batch_rank=3, weight=3,
    ),
]  # fmt: skip
