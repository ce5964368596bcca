"""Truncated backpropagation through time, against PyTorch with the state detached where a chunk begins."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.recurrent import sequence_inputs, torch_stack
from refimpl.recurrent.gru import gru
from refimpl.recurrent.lstm import lstm
from refimpl.recurrent.truncated import truncated


def inputs(generator, *, kind, **sizes):
    drawn = sequence_inputs(generator, kind=kind, **sizes)
    x, *states, params = drawn.args
    return drawn if kind == "LSTM" else type(drawn)((x, *states, None, params), drawn.masks)


def torch_truncated(x, h, c, params, *, run, n_step, lengths=None, **settings):
    state = (h,) if c is None else (h, c)
    written = []
    for start, chunk in enumerate(x.split(n_step, 1)):
        # Every sequence of these cases reaches into the last chunk, so that packing has something to pack.
        ends = None if lengths is None else (lengths - start * n_step).clamp(0, chunk.shape[1])
        before = state if start == 0 else tuple(part.detach() for part in state)
        y, *state = torch_stack(run.__name__.upper(), chunk, before, params, lengths=ends, **settings)
        written.append(y)
    return torch.cat(written, 1), *state


BUGS = {
    "gradient flows across the border": rewritten(
        truncated, "dlast if i == len(pullbacks) - 1 else [xp.zeros_like(d) for d in dlast]",
        "dlast if i == len(pullbacks) - 1 else dstart",
    ),
    "every chunk begins with the first state": rewritten(
        truncated, "*states[-1], params, lengths", "*states[0], params, lengths"
    ),
    "gradient of the last state in every chunk": rewritten(
        truncated, "dlast if i == len(pullbacks) - 1 else [xp.zeros_like(d) for d in dlast]", "dlast"
    ),
    "parameters of the last chunk alone": rewritten(
        truncated, "dhere if dparams is None else {key: dparams[key] + dhere[key] for key in dhere}",
        "dhere if dparams is None else dparams",
    ),
    "gradients of the chunks in the order met": rewritten(truncated, "dchunks[::-1]", "dchunks"),
}  # fmt: skip


def configs(kind, run):
    return (
        Config(
            "packed",
            {"kind": kind, "n_batch": 3, "n_seq": 5, "d_in": 4, "d_hidden": 2, "n_layer": 2, "lengths": (5, 4, 5)},
            {"run": run, "n_step": 3, "n_layer": 2}, oracles=False,
        ),
        Config(
            "one_chunk", {"kind": kind, "n_batch": 2, "n_seq": 4, "d_in": 3, "d_hidden": 5}, {"run": run, "n_step": 4},
        ),
        Config(
            "long", {"kind": kind, "n_batch": 2, "n_seq": 60, "d_in": 3, "d_hidden": 8}, {"run": run, "n_step": 16},
            oracles=False, profile="full",
        ),
    )  # fmt: skip


MEASURED = Config(
    "wide", {"kind": "GRU", "n_batch": 8, "n_seq": 32, "d_in": 64, "d_hidden": 64}, {"run": gru, "n_step": 8},
    oracles=False, measured=True,
)  # fmt: skip

CASES = [
    Case(
        name="truncated",
        section="recurrent",
        title="Truncated backpropagation through time",
        reference=truncated,
        inputs=inputs,
        configs=(*configs("GRU", gru), MEASURED),
        peers={"torch": torch_truncated},
        outputs=("y", "h_last"),
        bugs=BUGS,
    ),
    Case(
        name="truncated_lstm",
        section="recurrent",
        title="Truncated backpropagation through time, with a memory",
        reference=truncated,
        inputs=inputs,
        configs=configs("LSTM", lstm),
        peers={"torch": torch_truncated},
        outputs=("y", "h_last", "c_last"),
        bugs=BUGS,
    ),
]
