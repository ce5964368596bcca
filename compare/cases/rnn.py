"""The simple recurrent network against `torch.nn.RNN`."""

from functools import partial

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.recurrent import cell_inputs, sequence_inputs, torch_cell, torch_stack
from compare.cases.recurrent_bugs import SEQUENCE_BUGS, wrong_sequence
from refimpl.layers.linear import linear
from refimpl.layers.relu import relu
from refimpl.layers.tanh import tanh
from refimpl.recurrent import rnn as text
from refimpl.recurrent.rnn import rnn, rnn_cell


def torch_rnn_cell(x, h, params, *, activation="tanh"):
    return torch_cell("RNN", x, (h,), params, nonlinearity=activation)


def torch_rnn(x, h, params, *, activation="tanh", **settings):
    return torch_stack("RNN", x, (h,), params, nonlinearity=activation, **settings)


STEP_BUGS = {
    "bias of the hidden state ignored": {
        "old": "(from_x + from_h)", "new": '(from_x + from_h - params.get("bias_hh", 0.0))',
    },
    "weight of the hidden state transposed": {
        "linear": rewritten(linear, "xp.swapaxes(weight, 0, 1)", "weight"),
    },
    "tanh for relu": {"BENDS": {"tanh": tanh, "relu": tanh}},
    "relu for tanh": {"BENDS": {"tanh": relu, "relu": relu}},
    "gradient not bent": {"old": "(dsum,) = bend_pullback(dy[0])", "new": "(dsum,) = (dy[0] + 0.0,)"},
}  # fmt: skip


def wrong_rnn(function, name):
    return rewritten(function, _step=rewritten(text._step, **STEP_BUGS[name]))


CASES = [
    Case(
        name="rnn_cell",
        section="recurrent",
        title="Simple recurrent network, one step",
        reference=rnn_cell,
        inputs=partial(cell_inputs, kind="RNN"),
        configs=(
            Config("tanh", {"n_batch": 4, "d_in": 3, "d_hidden": 5}),
            Config("relu", {"n_batch": 3, "d_in": 7, "d_hidden": 4, "biases": ("hh",)}, {"activation": "relu"}),
            Config("sharp", {"n_batch": 2, "d_in": 6, "d_hidden": 8, "scale": 8.0, "biases": ()}, profile="full"),
            Config("wide", {"n_batch": 32, "d_in": 128, "d_hidden": 256}, measured=True),
        ),
        peers={"torch": torch_rnn_cell},
        bugs={name: wrong_rnn(rnn_cell, name) for name in STEP_BUGS},
    ),
    Case(
        name="rnn",
        section="recurrent",
        title="Simple recurrent network",
        reference=rnn,
        inputs=partial(sequence_inputs, kind="RNN"),
        configs=(
            Config("one_layer", {"n_batch": 2, "n_seq": 4, "d_in": 3, "d_hidden": 5}),
            Config(
                "packed",
                {"n_batch": 3, "n_seq": 4, "d_in": 5, "d_hidden": 2, "n_layer": 2, "n_direction": 2,
                 "lengths": (4, 1, 2)},
                {"n_layer": 2, "bidirectional": True},
            ),
            Config(
                "relu",
                {"n_batch": 2, "n_seq": 3, "d_in": 4, "d_hidden": 5, "n_direction": 2, "lengths": (2, 3)},
                {"bidirectional": True, "activation": "relu"},
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
                {"n_batch": 4, "n_seq": 6, "d_in": 3, "d_hidden": 5, "n_layer": 3, "n_direction": 2,
                 "lengths": (6, 5, 1, 3), "biases": ("ih",)},
                {"n_layer": 3, "bidirectional": True},
                profile="full",
            ),
            Config("one_step", {"n_batch": 3, "n_seq": 1, "d_in": 1, "d_hidden": 1}, profile="full"),
            Config("wide", {"n_batch": 8, "n_seq": 32, "d_in": 128, "d_hidden": 128}, measured=True),
        ),
        peers={"torch": torch_rnn},
        outputs=("y", "h_last"),
        bugs={
            **{name: wrong_rnn(rnn, name) for name in STEP_BUGS},
            **{name: wrong_sequence(rnn, name) for name in SEQUENCE_BUGS},
        },
    ),
]  # fmt: skip
