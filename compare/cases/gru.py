"""The gated recurrent unit against `torch.nn.GRU`, and, with the reset before the product, against a plain loop."""

from functools import partial

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.recurrent import cell_inputs, sequence_inputs, torch_cell, torch_stack
from compare.cases.recurrent_bugs import SEQUENCE_BUGS, wrong_sequence
from refimpl.recurrent import gru as text
from refimpl.recurrent.gru import gru, gru_cell


def torch_gru_cell(x, h, params, *, reset="after"):
    return torch_cell("GRU", x, (h,), params) if reset == "after" else reset_before(x, h, params)


def torch_gru(x, h, params, *, reset="after", **settings):
    return torch_stack("GRU", x, (h,), params, **settings) if reset == "after" else loop(x, h, params, **settings)


def reset_before(x, h, params, suffix=""):
    """One step as the paper writes it, gate by gate."""
    w, u = (params[f"weight_{which}{suffix}"].chunk(3) for which in ("ih", "hh"))
    b = sum(params[f"bias_{which}{suffix}"] for which in ("ih", "hh") if f"bias_{which}{suffix}" in params)
    b = b.chunk(3) if torch.is_tensor(b) else (0.0, 0.0, 0.0)
    r = torch.sigmoid(x @ w[0].T + h @ u[0].T + b[0])
    z = torch.sigmoid(x @ w[1].T + h @ u[1].T + b[1])
    n = torch.tanh(x @ w[2].T + (r * h) @ u[2].T + b[2])
    return z * h + (1 - z) * n


def loop(x, h, params, *, n_layer=1, bidirectional=False, lengths=None):
    """Every sequence by itself, cut to its length and turned round for the other direction."""
    n_batch, n_seq = x.shape[:2]
    ends = [n_seq] * n_batch if lengths is None else lengths.tolist()
    below, lasts = [row[:end] for row, end in zip(x, ends, strict=True)], []
    for layer in range(n_layer):
        read = []
        for way in ("", "_reverse")[: 1 + bidirectional]:
            suffix, rows = f"_l{layer}{way}", []
            for i, row in enumerate(below):
                state, seen = h[len(lasts), i], []
                for vector in row.flip(0) if way else row:
                    state = reset_before(vector, state, params, suffix)
                    seen.append(state)
                rows.append((torch.stack(seen[::-1] if way else seen), state))
            read.append([seen for seen, _ in rows])
            lasts.append(torch.stack([state for _, state in rows]))
        below = [torch.cat(parts, -1) for parts in zip(*read, strict=True)]
    padded = [torch.nn.functional.pad(row, (0, 0, 0, n_seq - end)) for row, end in zip(below, ends, strict=True)]
    return torch.stack(padded), torch.stack(lasts)


# Of one variant, or (where the text is the same) of both.
STEP_BUGS = {
    "reset before instead of after": {"after": text._step_before},
    "reset after instead of before": {"before": text._step_after},
    "update gate exchanged": {
        name: rewritten(step, "(1.0 - z) * n + z * h", "z * n + (1.0 - z) * h") for name, step in text.STEPS.items()
    },
    "gates in the order z r n": {
        name: rewritten(step, "x_r, x_z, x_n =", "x_z, x_r, x_n =") for name, step in text.STEPS.items()
    },
    "bias of the hidden state outside the reset": {
        "after": rewritten(
            text._step_after, "tanh(x_n + r * h_n)",
            'tanh(x_n + r * h_n + (1.0 - r) * (params["bias_hh"][-h.shape[1] :] if "bias_hh" in params else 0.0))',
        )
    },
    "gradient past the update gate lost": {
        name: rewritten(step, "dh_new * z + ", "") for name, step in text.STEPS.items()
    },
    "gradient of the reset product not gated": {"after": rewritten(text._step_after, "dn_in * r]", "dn_in]")},
    "gradient of the gated state not gated": {"before": rewritten(text._step_before, "dreset * r +", "dreset +")},
}  # fmt: skip


def wrong_gru(function, name):
    steps = {**text.STEPS, **STEP_BUGS[name]}
    return rewritten(function, _step_named=steps.__getitem__)


CASES = [
    Case(
        name="gru_cell",
        section="recurrent",
        title="Gated recurrent unit, one step",
        reference=gru_cell,
        inputs=partial(cell_inputs, kind="GRU"),
        configs=(
            Config("after", {"n_batch": 4, "d_in": 3, "d_hidden": 5}),
            Config("before", {"n_batch": 4, "d_in": 3, "d_hidden": 5}, {"reset": "before"}),
            Config("one_bias", {"n_batch": 3, "d_in": 7, "d_hidden": 4, "biases": ("ih",)}),
            Config("sharp", {"n_batch": 2, "d_in": 6, "d_hidden": 8, "scale": 8.0, "biases": ()}, profile="full"),
            Config("wide", {"n_batch": 32, "d_in": 128, "d_hidden": 256}, measured=True),
        ),
        peers={"torch": torch_gru_cell},
        bugs={name: wrong_gru(gru_cell, name) for name in STEP_BUGS},
    ),
    Case(
        name="gru",
        section="recurrent",
        title="Gated recurrent unit",
        reference=gru,
        inputs=partial(sequence_inputs, kind="GRU"),
        configs=(
            Config("one_layer", {"n_batch": 2, "n_seq": 4, "d_in": 3, "d_hidden": 5}),
            Config(
                "packed",
                {"n_batch": 3, "n_seq": 4, "d_in": 5, "d_hidden": 2, "n_layer": 2, "n_direction": 2,
                 "lengths": (4, 1, 2)},
                {"n_layer": 2, "bidirectional": True},
            ),
            Config(
                "before",
                {"n_batch": 2, "n_seq": 3, "d_in": 4, "d_hidden": 5, "n_direction": 2, "lengths": (2, 3)},
                {"bidirectional": True, "reset": "before"},
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
        peers={"torch": torch_gru},
        outputs=("y", "h_last"),
        bugs={
            **{name: wrong_gru(gru, name) for name in STEP_BUGS},
            **{name: wrong_sequence(gru, name) for name in SEQUENCE_BUGS},
        },
    ),
]  # fmt: skip
