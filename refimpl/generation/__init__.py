"""Generation: from a model that scores the next token to texts; no file here knows any model."""

from refimpl.generation.beam import Beams, beam_search
from refimpl.generation.constraints import Constraints
from refimpl.generation.contrastive import contrastive
from refimpl.generation.decode import greedy, last, sample
from refimpl.generation.filters import Filters
from refimpl.generation.reader import Model, reorder_layers, rewind_layers
from refimpl.generation.speculative import speculative
from refimpl.generation.stop import Stop
from refimpl.generation.stream import pieces
from refimpl.generation.text import Text, pad_left

__all__ = [
    "Beams",
    "Constraints",
    "Filters",
    "Model",
    "Stop",
    "Text",
    "beam_search",
    "contrastive",
    "greedy",
    "last",
    "pad_left",
    "pieces",
    "reorder_layers",
    "rewind_layers",
    "sample",
    "speculative",
]
