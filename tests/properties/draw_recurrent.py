"""How to draw calls of recurrent networks, and of the attention that was first put on top of them."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from compare import strategies
from refimpl.layers.dropout import keep_mask
from refimpl.recurrent.lstm import lstm
from tests.properties.component import Call
from tests.properties.draw_layers import SCALES, SEEDS

N_GATE = {"rnn": 1, "gru": 3, "lstm": 4}


def cell_shapes(kind, d_in, d_hidden, d_proj=None, suffix=""):
    """Required and optional parameters of one cell."""
    n_row = N_GATE[kind] * d_hidden
    required = {"weight_ih": (n_row, d_in), "weight_hh": (n_row, d_proj or d_hidden)}
    projection = {} if d_proj is None else {"weight_hr": (d_proj, d_hidden)}
    biases = {"bias_ih": (n_row,), "bias_hh": (n_row,)}
    parts = ({**required, **projection}, biases)
    return tuple({key + suffix: shape for key, shape in part.items()} for part in parts)


def stack_shapes(kind, d_in, d_hidden, n_layer, n_direction, d_proj=None):
    """Required and optional parameters of layers on top of each other."""
    required, optional = {}, {}
    for layer in range(n_layer):
        for way in ("", "_reverse")[:n_direction]:
            size = d_in if layer == 0 else n_direction * (d_proj or d_hidden)
            parts = cell_shapes(kind, size, d_hidden, d_proj, f"_l{layer}{way}")
            required, optional = required | parts[0], optional | parts[1]
    return required, optional


def settings_of(kind, draw):
    if kind == "gru":
        return {"reset": draw(st.sampled_from(["after", "before"]))}
    return {"activation": "tanh"} if kind == "rnn" else {}


@st.composite
def cell_calls(draw, kind):
    n_batch, d_in, d_hidden = draw(strategies.sizes(3, max_side=5))
    arrays = {"x": draw(strategies.floating((n_batch, d_in), scale=draw(SCALES)))}
    for name in "hc"[: 2 if kind == "lstm" else 1]:
        arrays[name] = draw(strategies.floating((n_batch, d_hidden)))
    params = draw(strategies.params(*cell_shapes(kind, d_in, d_hidden)))
    return Call(arrays, params, settings_of(kind, draw), draw(SEEDS))


@st.composite
def sequence_calls(draw, kind, *, n_layer=None, n_direction=None, with_lengths=True):
    n_batch, n_seq, d_in, d_hidden = draw(strategies.sizes(4, max_side=5))
    n_layer, n_direction = n_layer or draw(st.integers(1, 2)), n_direction or draw(st.integers(1, 2))
    d_proj = draw(st.none() | st.integers(1, 3)) if kind == "lstm" else None
    arrays = {"x": draw(strategies.floating((n_batch, n_seq, d_in)))}
    for name, d in zip("hc"[: 2 if kind == "lstm" else 1], (d_proj or d_hidden, d_hidden), strict=False):
        arrays[name] = draw(strategies.floating((n_layer * n_direction, n_batch, d)))
    params = draw(strategies.params(*stack_shapes(kind, d_in, d_hidden, n_layer, n_direction, d_proj)))
    settings = settings_of(kind, draw) | {"n_layer": n_layer, "bidirectional": n_direction == 2}
    if with_lengths and draw(st.booleans()):
        settings["lengths"] = draw(lengths(n_batch, n_seq))
    if n_layer > 1 and draw(st.booleans()):
        kept = (n_layer - 1, n_batch, n_seq, n_direction * (d_proj or d_hidden))
        settings |= {"rate": 0.4, "keep": keep_mask(draw(strategies.generators()), kept, rate=0.4)}
    return Call(arrays, params, settings, draw(SEEDS))


@st.composite
def lengths(draw, n_batch, n_seq):
    """A sequence may be empty, or as long as there is place."""
    return np.asarray(draw(strategies.generators()).integers(0, n_seq + 1, n_batch))


def uncut_calls():
    """Truncated backpropagation whose chunk is the whole sequence: only then its gradient is a derivative."""
    return sequence_calls("lstm", n_layer=1, n_direction=1).map(
        lambda call: replace(call, settings=call.settings | {"run": lstm, "n_step": 5})
    )


@st.composite
def _asked_and_asking(draw, *, same_width=False):
    *batch, n_query, n_key, d_query, d_state = draw(strategies.sizes(4, 6, max_side=6))
    arrays = {
        "q": draw(strategies.floating((*batch, n_query, d_query))),
        "states": draw(strategies.floating((*batch, n_key, d_query if same_width else d_state))),
    }
    return arrays, {"mask": draw(st.none() | strategies.masks((*batch, n_query, n_key)))}


@st.composite
def additive_calls(draw):
    arrays, settings = draw(_asked_and_asking())
    d_query, d_state, d_hidden = (*(x.shape[-1] for x in arrays.values()), draw(st.integers(1, 6)))
    required = {"query.weight": (d_hidden, d_query), "key.weight": (d_hidden, d_state), "score.weight": (1, d_hidden)}
    params = draw(strategies.params(required, {"query.bias": (d_hidden,), "key.bias": (d_hidden,)}))
    return Call(arrays, params, settings, draw(SEEDS))


@st.composite
def multiplicative_calls(draw):
    score = draw(st.sampled_from(["dot", "general", "concat"]))
    arrays, settings = draw(_asked_and_asking(same_width=score == "dot"))
    d_query, d_state, d_hidden = (*(x.shape[-1] for x in arrays.values()), draw(st.integers(1, 6)))
    shapes = {
        "dot": {},
        "general": {"weight": (d_query, d_state)},
        "concat": {"weight": (d_hidden, d_query + d_state), "score.weight": (1, d_hidden)},
    }
    return Call(arrays, draw(strategies.params(shapes[score])), settings | {"score": score}, draw(SEEDS))


@st.composite
def align_calls(draw):
    arrays, settings = draw(_asked_and_asking())
    *batch, n_query, _ = arrays["q"].shape
    scores = draw(strategies.floating((*batch, n_query, arrays["states"].shape[-2]), scale=draw(SCALES)))
    return Call({"scores": scores, "states": arrays["states"]}, None, settings, draw(SEEDS))


@st.composite
def translator_calls(draw):
    n_batch, n_source, n_target, d_model, d_hidden = draw(strategies.sizes(5, max_side=5))
    n_read, n_class = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    required, optional = {"projection.weight": (n_class, d_hidden)}, {"projection.bias": (n_class,)}
    for side, n in (("encoder", n_read), ("decoder", n_class)):
        required[f"{side}.embedding.weight"] = (n, d_model)
        for part, found in zip((required, optional), stack_shapes("gru", d_model, d_hidden, 1, 1), strict=True):
            part.update({f"{side}.gru.{key}": shape for key, shape in found.items()})
    arrays = {
        "source_ids": draw(strategies.ids((n_batch, n_source), n_read)),
        "target_ids": draw(strategies.ids((n_batch, n_target), n_class)),
    }
    settings = {"lengths": draw(st.none() | lengths(n_batch, n_source))}
    return Call(arrays, draw(strategies.params(required, optional)), settings, draw(SEEDS))


@st.composite
def tagger_calls(draw):
    n_batch, n_seq, d_model, d_hidden = draw(strategies.sizes(4, max_side=5))
    n_read, n_class, d_wide = (draw(st.integers(2, 6)) for _ in range(3))
    stacked = stack_shapes("lstm", d_model, d_hidden, 1, 2)
    maps = {"logit_layer.0.weight": (d_wide, 2 * d_hidden), "logit_layer.2.weight": (n_class, d_wide)}
    required = {"embedding.weight": (n_read, d_model), **maps, **{f"lstm.{k}": s for k, s in stacked[0].items()}}
    biases = {"logit_layer.0.bias": (d_wide,), "logit_layer.2.bias": (n_class,)}
    params = draw(strategies.params(required, biases | {f"lstm.{k}": s for k, s in stacked[1].items()}))
    settings = {"lengths": draw(st.none() | lengths(n_batch, n_seq))}
    return Call({"token_ids": draw(strategies.ids((n_batch, n_seq), n_read))}, params, settings, draw(SEEDS))
