"""Long short-term memory against `torch.nn.LSTM`."""

from functools import partial

import numpy as np

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.recurrent import cell_inputs, sequence_inputs, torch_cell, torch_stack
from compare.cases.recurrent_bugs import SEQUENCE_BUGS, wrong_sequence
from refimpl.layers.linear import linear
from refimpl.recurrent import lstm as text
from refimpl.recurrent.lstm import lstm, lstm_cell


def torch_lstm_cell(x, h, c, params):
    if "weight_hr" not in params:
        return torch_cell("LSTM", x, (h, c), params)
    # `torch.nn.LSTMCell` has no projection: a sequence of one position has.
    named = {f"{key}_l0": value for key, value in params.items()}
    _, h_last, c_last = torch_stack("LSTM", x[:, None], (h[None], c[None]), named)
    return h_last[0], c_last[0]


def torch_lstm(x, h, c, params, **settings):
    return torch_stack("LSTM", x, (h, c), params, **settings)


def first_bias(params):
    """Give every gate the bias of the first."""
    if "bias" not in params:
        return params
    return {**params, "bias": np.tile(params["bias"][: len(params["bias"]) // 4], 4)}


STEP_BUGS = {
    "gates in the order i o f c of ONNX": {"old": "i_in, f_in, g_in, o_in = xp", "new": "i_in, o_in, f_in, g_in = xp"},
    "gates in the order i f c o, read as i f o c": {
        "old": "i_in, f_in, g_in, o_in = xp", "new": "i_in, f_in, o_in, g_in = xp",
    },
    "every gate with the bias of the first": {
        "linear": lambda x, params: linear(x, first_bias(params)),
    },
    "memory shown without tanh": {"tanh": lambda x: (x, lambda dy: (dy,))},
    "gradient through the memory lost": {"old": "dc_all = dc_new + dmemory", "new": "dc_all = dmemory"},
    "gradient of the memory not forgotten": {"old": "dh, dc_all * f, merge", "new": "dh, dc_all, merge"},
    "gradient of the output gate from the memory": {
        "old": "o_pullback(dhidden * shown)", "new": "o_pullback(dhidden * c_new)",
    },
}  # fmt: skip


def wrong_lstm(function, name):
    return rewritten(function, _step=rewritten(text._step, **STEP_BUGS[name]))


CASES = [
    Case(
        name="lstm_cell",
        section="recurrent",
        title="Long short-term memory, one step",
        reference=lstm_cell,
        inputs=partial(cell_inputs, kind="LSTM"),
        configs=(
            Config("plain", {"n_batch": 4, "d_in": 3, "d_hidden": 5}),
            Config("projected", {"n_batch": 2, "d_in": 4, "d_hidden": 5, "d_proj": 3}),
            Config("one_bias", {"n_batch": 3, "d_in": 7, "d_hidden": 4, "biases": ("ih",)}),
            Config("sharp", {"n_batch": 2, "d_in": 6, "d_hidden": 8, "scale": 8.0, "biases": ()}, profile="full"),
            Config("wide", {"n_batch": 32, "d_in": 128, "d_hidden": 256}, measured=True),
        ),
        peers={"torch": torch_lstm_cell},
        outputs=("h_new", "c_new"),
        bugs={name: wrong_lstm(lstm_cell, name) for name in STEP_BUGS},
    ),
    Case(
        name="lstm",
        section="recurrent",
        title="Long short-term memory",
        reference=lstm,
        inputs=partial(sequence_inputs, kind="LSTM"),
        configs=(
            Config("one_layer", {"n_batch": 2, "n_seq": 4, "d_in": 3, "d_hidden": 5}),
            Config(
                "packed",
                {"n_batch": 3, "n_seq": 4, "d_in": 5, "d_hidden": 2, "n_layer": 2, "n_direction": 2,
                 "lengths": (4, 1, 2)},
                {"n_layer": 2, "bidirectional": True},
            ),
            Config(
                "projected",
                {"n_batch": 2, "n_seq": 3, "d_in": 4, "d_hidden": 5, "d_proj": 3, "n_direction": 2, "lengths": (2, 3)},
                {"bidirectional": True},
            ),
            Config(
                "dropout",
                {"n_batch": 2, "n_seq": 3, "d_in": 5, "d_hidden": 4, "n_layer": 2, "has_state": False, "biases": (),
                 "rate": 0.3},
                {"n_layer": 2, "rate": 0.3},
            ),
            Config("long", {"n_batch": 2, "n_seq": 50, "d_in": 3, "d_hidden": 8}, profile="full"),
            Config(
                "deep",
                {"n_batch": 4, "n_seq": 6, "d_in": 3, "d_hidden": 5, "d_proj": 2, "n_layer": 3, "n_direction": 2,
                 "lengths": (6, 5, 1, 3), "biases": ("ih",)},
                {"n_layer": 3, "bidirectional": True},
                profile="full",
            ),
            Config("one_step", {"n_batch": 3, "n_seq": 1, "d_in": 1, "d_hidden": 1}, profile="full"),
            Config("wide", {"n_batch": 8, "n_seq": 32, "d_in": 128, "d_hidden": 128}, measured=True),
        ),
        peers={"torch": torch_lstm},
        outputs=("y", "h_last", "c_last"),
        bugs={
            **{name: wrong_lstm(lstm, name) for name in STEP_BUGS},
            **{name: wrong_sequence(lstm, name) for name in SEQUENCE_BUGS},
        },
    ),
]  # fmt: skip
