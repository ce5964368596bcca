"""How far gradients reach: simple recurrent network, LSTM, GRU and self-attention on one and the same sequence.

Only the last position is looked at, so that the gradient of the input says what each earlier position means to it.
The study beside the comparison shows why attention replaced recurrence.
"""

import torch

from compare.cases import reach_study
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.lstm import wrong_lstm
from compare.cases.recurrent import torch_stack
from compare.cases.recurrent_bugs import wrong_sequence
from compare.peers.torch_peer import call_module, meta_module
from refimpl.arrays import add_prefix, array_namespace, keyed_as, merge, scope
from refimpl.attention.multi_head import self_attention
from refimpl.recurrent.gru import gru
from refimpl.recurrent.lstm import lstm
from refimpl.recurrent.rnn import rnn


def last_positions(x, params, *, n_head):
    """Read a sequence in four ways, and tell what each knows at its end.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    params : dict of array
        ``rnn.*``, ``lstm.*``, ``gru.*`` and ``attention.*``: see `rnn`, `lstm`, `gru` and `self_attention`.
    n_head : int
        The number of attention heads.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, d_model)
        The output of each at the last position.
    pullback : callable
        Maps a tuple of four dy to ``(dx, dparams)``.
    """
    xp = array_namespace(x, params)
    (by_rnn, *_), rnn_pullback = rnn(x, None, scope(params, "rnn."))
    (by_lstm, *_), lstm_pullback = lstm(x, None, None, scope(params, "lstm."))
    (by_gru, *_), gru_pullback = gru(x, None, scope(params, "gru."))
    attended, attention_pullback = self_attention(x, scope(params, "attention."), n_head=n_head)

    def pullback(dy):
        before = ((0, 0), (x.shape[1] - 1, 0), (0, 0))
        dlast = [xp.pad(d[:, None], before, mode="constant") for d in dy]
        nothing = [xp.zeros_like(d[None]) for d in dy]
        dx_rnn, drnn = rnn_pullback((dlast[0], nothing[0]))
        dx_lstm, dlstm = lstm_pullback((dlast[1], nothing[1], nothing[1]))
        dx_gru, dgru = gru_pullback((dlast[2], nothing[2]))
        dx_attention, dattention = attention_pullback(dlast[3])
        parts = {"rnn.": drnn, "lstm.": dlstm, "gru.": dgru, "attention.": dattention}
        dparams = merge(*(add_prefix(prefix, part) for prefix, part in parts.items()))
        return dx_rnn + dx_lstm + dx_gru + dx_attention, keyed_as(dparams, params)

    return tuple(y[:, -1] for y in (by_rnn, by_lstm, by_gru, attended)), pullback


def inputs(generator, *, n_batch, n_seq, d_model):
    params = normal_params(generator, reach_study.shapes(d_model))
    return Inputs((normal(generator, n_batch, n_seq, d_model), params))


def torch_last_positions(x, params, *, n_head):
    states = {"rnn": (None,), "lstm": (None, None), "gru": (None,)}
    read = [torch_stack(kind.upper(), x, state, scope(params, f"{kind}."))[0] for kind, state in states.items()]
    module = meta_module(torch.nn.MultiheadAttention, x.shape[-1], n_head, batch_first=True)
    attended, _ = call_module(module, scope(params, "attention."), x, x, x, need_weights=False)
    return tuple(y[:, -1] for y in (*read, attended))


CASES = [
    Case(
        name="reach",
        section="recurrent",
        title="How far gradients reach: recurrence against attention",
        reference=last_positions,
        inputs=inputs,
        configs=(
            Config("short", {"n_batch": 2, "n_seq": 4, "d_model": 6}, {"n_head": 2}),
            Config("long", {"n_batch": 2, "n_seq": 40, "d_model": 8}, {"n_head": 4}, profile="full"),
        ),
        peers={"torch": torch_last_positions},
        outputs=reach_study.NETWORKS,
        bugs={
            "the first position for the last": rewritten(last_positions, "y[:, -1] for y", "y[:, 0] for y"),
            "gradient of one network lost": rewritten(last_positions, "dx_rnn + dx_lstm + ", "dx_rnn + "),
            "gradient at the first position": rewritten(
                last_positions, "(x.shape[1] - 1, 0), (0, 0))", "(0, x.shape[1] - 1), (0, 0))"
            ),
            "gradient through time cut": rewritten(
                last_positions, gru=wrong_sequence(gru, "gradient through time cut")
            ),
            "gradient through the memory lost": rewritten(
                last_positions, lstm=wrong_lstm(lstm, "gradient through the memory lost")
            ),
        },
        study=reach_study.study,
    )
]  # fmt: skip
