"""GPT-1, GPT-2 and GPT-3, with and without heads."""

from refimpl.models.gpt.heads import gpt_for_sequence_classification, gpt_lm
from refimpl.models.gpt.model import gpt, gpt_embeddings
from tests.properties.component import Component
from tests.properties.draw_gpt import gpt_calls, gpt_embeddings_calls

COMPONENTS = [
    Component(gpt_embeddings, gpt_embeddings_calls(), ("params",), curved=False),
    Component(gpt, gpt_calls(), ("params",), curved=False, weight=8),
    Component(gpt_lm, gpt_calls("head.weight"), ("params",), curved=False, weight=8),
    Component(
        gpt_for_sequence_classification, gpt_calls("classifier.weight"), ("params",), curved=False, weight=8
    ),
]
