"""Recurrent networks, what is built of them, and the attention over their states.

Sequences have their batch on the second axis of their states, so that the general checks of the batch do not apply:
`test_recurrent.py` has its own.
"""

from refimpl.attention.alignment.additive import additive_attention
from refimpl.attention.alignment.align import align
from refimpl.attention.alignment.multiplicative import multiplicative_attention
from refimpl.models.recurrent_tagger import recurrent_tagger
from refimpl.models.recurrent_translator import recurrent_translator
from refimpl.recurrent.gru import gru, gru_cell
from refimpl.recurrent.lstm import lstm, lstm_cell
from refimpl.recurrent.rnn import rnn, rnn_cell
from refimpl.recurrent.truncated import truncated
from tests.properties import draw_recurrent
from tests.properties.component import Component

NEVER = 9  # no array has so many axes

COMPONENTS = [
    Component(rnn_cell, draw_recurrent.cell_calls("rnn"), ("x", "h", "params")),
    Component(gru_cell, draw_recurrent.cell_calls("gru"), ("x", "h", "params"), weight=2),
    Component(lstm_cell, draw_recurrent.cell_calls("lstm"), ("x", "h", "c", "params"), weight=2),
    Component(rnn, draw_recurrent.sequence_calls("rnn"), ("x", "h", "params"), batch_rank=NEVER, weight=4),
    Component(gru, draw_recurrent.sequence_calls("gru"), ("x", "h", "params"), batch_rank=NEVER, weight=8),
    Component(lstm, draw_recurrent.sequence_calls("lstm"), ("x", "h", "c", "params"), batch_rank=NEVER, weight=8),
    Component(truncated, draw_recurrent.uncut_calls(), ("x", "h", "c", "params"), batch_rank=NEVER, weight=8),
    Component(align, draw_recurrent.align_calls(), ("scores", "states"), batch_rank=3),
    Component(additive_attention, draw_recurrent.additive_calls(), ("q", "states", "params"), batch_rank=3, weight=2),
    Component(
        multiplicative_attention, draw_recurrent.multiplicative_calls(), ("q", "states", "params"), batch_rank=3,
        weight=2,
    ),
    Component(recurrent_translator, draw_recurrent.translator_calls(), ("params",), batch_rank=NEVER, weight=8),
    Component(
        recurrent_tagger, draw_recurrent.tagger_calls(), ("params",), curved=False, batch_rank=NEVER, weight=8
    ),
]  # fmt: skip
