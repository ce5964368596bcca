"""What BERT is fine-tuned for."""

from dataclasses import replace

from hypothesis import strategies as st

from compare import strategies
from refimpl.models.bert.config import ACTIVATIONS
from refimpl.models.bert.tasks import (
    bert_for_classification,
    bert_for_masked_lm,
    bert_for_question_answering,
    bert_for_token_classification,
    classification_head,
    pooled_tokens,
)
from tests.properties import draw_models
from tests.properties.component import Call, Component
from tests.properties.draw_layers import SCALES, SEEDS

BACKBONE = ("embeddings.", "encoder.")


@st.composite
def pool_calls(draw):
    shape = draw(strategies.shapes(min_rank=3, max_rank=3))
    settings = {"pooling": draw(st.sampled_from(["first", "mean"])), "is_token": None}
    if draw(st.booleans()):
        settings["is_token"] = draw(strategies.masks(shape[:2], may_broadcast=False))
    return Call({"x": draw(strategies.floating(shape, scale=draw(SCALES)))}, None, settings, draw(SEEDS))


@st.composite
def head_calls(draw):
    shape = draw(strategies.shapes(min_rank=1, max_rank=3, max_side=4))
    # Two features or more: of a single one, a layer norm leaves nothing but rounding.
    d, n_label = draw(st.integers(3, 6)), draw(st.integers(1, 4))
    dense, normed = draw(st.sampled_from([(False, False), (True, False), (True, True)]))
    shapes = {"out.weight": (n_label, d if dense else shape[-1]), "out.bias": (n_label,)}
    shapes |= {"dense.weight": (d, shape[-1]), "dense.bias": (d,)} if dense else {}
    shapes |= {"norm.weight": (d,), "norm.bias": (d,)} if normed else {}
    settings = {"activation": draw(st.sampled_from([*ACTIVATIONS, "tanh"])), "eps": draw(draw_models.EPS)}
    return Call({"x": draw(strategies.floating(shape))}, draw(strategies.params(shapes)), settings, draw(SEEDS))


@st.composite
def classification_calls(draw):
    call = draw(draw_models.bert_calls(BACKBONE))
    d_model = call.settings["config"].d_model
    shapes = {"out.weight": (3, 4), "out.bias": (3,), "dense.weight": (4, d_model), "dense.bias": (4,)}
    shapes |= {"norm.weight": (4,), "norm.bias": (4,)} if draw(st.booleans()) else {}
    head = draw(strategies.params({f"head.{key}": shape for key, shape in shapes.items()}))
    choices = {"pooling": ["first", "mean"], "activation": ["tanh", "relu"]}
    settings = {name: draw(st.sampled_from(values)) for name, values in choices.items()}
    return replace(call, params=call.params | head, settings=call.settings | settings)


COMPONENTS = [
    Component(pooled_tokens, pool_calls(), ("x",), curved=False, batch_rank=3),
    Component(classification_head, head_calls(), ("x", "params"), curved=False, weight=2),
    Component(bert_for_classification, classification_calls(), ("params",), curved=False, weight=8),
    Component(
        bert_for_token_classification, draw_models.bert_calls([*BACKBONE, "classifier."]), ("params",), curved=False,
        weight=8,
    ),
    Component(
        bert_for_question_answering, draw_models.bert_calls([*BACKBONE, "qa."]), ("params",), curved=False, weight=8
    ),
    Component(
        bert_for_masked_lm, draw_models.bert_calls([*BACKBONE, "mlm."]), ("params",), curved=False, weight=8
    ),
]  # fmt: skip
