"""Positions of every kind but learned ones, and learned ones made longer."""

from hypothesis import strategies as st

from refimpl.attention.relative.shaw import shaw_attention
from refimpl.positions.bucketed import bucketed_bias
from refimpl.positions.extension import extend_by_interpolation, extend_by_mean, extend_by_tiling
from refimpl.positions.rotary import rotary
from refimpl.positions.sinusoidal import sinusoidal_positions
from tests.properties import draw_positions
from tests.properties.component import Component

NEVER = 9  # no array has so many axes: the rows of a table are no batch

# But for Shaw's, all are linear in what has a gradient.
COMPONENTS = [
    Component(rotary, draw_positions.rotary_calls(), ("x",), curved=False, batch_rank=3),
    Component(sinusoidal_positions, draw_positions.sinusoidal_calls(), ("x",), curved=False, batch_rank=3),
    Component(bucketed_bias, draw_positions.bucketed_calls(), ("params",), curved=False, batch_rank=NEVER),
    Component(shaw_attention, draw_positions.shaw_calls(), ("q", "k", "v", "params"), batch_rank=3, weight=2),
    Component(extend_by_mean, draw_positions.extension_calls(), ("weight",), curved=False, batch_rank=NEVER),
    Component(extend_by_tiling, draw_positions.extension_calls(), ("weight",), curved=False, batch_rank=NEVER),
    Component(
        extend_by_interpolation,
        draw_positions.extension_calls(align=st.sampled_from(["ends", "cells"])),
        ("weight",),
        curved=False,
        batch_rank=NEVER,
    ),
]
