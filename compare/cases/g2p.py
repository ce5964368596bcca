"""Pronunciation by trained recurrent networks: g2p-en (English, two GRUs) and g2pM (Chinese, a bidirectional LSTM).

The peers say in PyTorch what the packages' own inference says in NumPy: one word after the other, gate by gate.
"""

from functools import partial

import numpy as np
import torch

from compare.cases import g2p_data
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.lstm import wrong_lstm
from refimpl.models.recurrent_tagger import recurrent_tagger
from refimpl.models.recurrent_translator import recurrent_translator, translate
from refimpl.recurrent.gru import gru
from refimpl.recurrent.lstm import lstm

MOST_PHONEMES = 20


def english_inputs(generator, *, first, last):
    """Take some of the words, and their pronunciations by the same network as what has been written."""
    params = g2p_data.english_params()
    ids, lengths = g2p_data.spelled(g2p_data.words()[first:last])
    written = translate(ids, params, start_id=g2p_data.START, n_target=MOST_PHONEMES, lengths=lengths)
    n_target = max(len(g2p_data.pronounced(row)) for row in written)
    starts = np.full((len(ids), 1), g2p_data.START)
    return Inputs((ids, np.concatenate([starts, written[:, :n_target]], 1), params), {"lengths": lengths})


def chinese_inputs(generator, *, first, last):
    ids, lengths = g2p_data.numbered(g2p_data.sentences()[first:last])
    return Inputs((ids, g2p_data.chinese_params()), {"lengths": lengths})


def torch_translator(source_ids, target_ids, params, *, lengths):
    rows = []
    for letters, phonemes, length in zip(source_ids, target_ids, lengths.tolist(), strict=True):
        h, said = torch.zeros_like(params["projection.weight"][:1]), []
        for letter in letters[:length]:
            h = grucell(params["encoder.embedding.weight"][letter], h, params, "encoder")
        for phoneme in phonemes:
            h = grucell(params["decoder.embedding.weight"][phoneme], h, params, "decoder")
            said.append(h @ params["projection.weight"].T + params["projection.bias"])
        rows.append(torch.cat(said))
    return torch.stack(rows)


def grucell(x, h, params, which):
    w_ih, w_hh, b_ih, b_hh = (
        params[f"{which}.gru.{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    rz_ih, n_ih = (x @ w_ih.T + b_ih).tensor_split([2 * h.shape[-1]], -1)
    rz_hh, n_hh = (h @ w_hh.T + b_hh).tensor_split([2 * h.shape[-1]], -1)
    r, z = torch.sigmoid(rz_ih + rz_hh).chunk(2, -1)
    n = torch.tanh(n_ih + r * n_hh)
    return (1 - z) * n + z * h


def torch_tagger(token_ids, params, *, lengths):
    rows = []
    for row, length in zip(token_ids, lengths.tolist(), strict=True):
        embedded = params["embedding.weight"][row]
        read = [
            directed(embedded[:length], params, ""),
            directed(embedded[:length].flip(0), params, "_reverse").flip(0),
        ]
        hidden = torch.nn.functional.pad(torch.cat(read, -1), (0, 0, 0, len(row) - length))
        wide = torch.relu(hidden @ params["logit_layer.0.weight"].T + params["logit_layer.0.bias"])
        rows.append(wide @ params["logit_layer.2.weight"].T + params["logit_layer.2.bias"])
    return torch.stack(rows)


def directed(vectors, params, way):
    weight_ih, weight_hh, bias_ih, bias_hh = (
        params[f"lstm.{name}_l0{way}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h, c, seen = torch.zeros_like(weight_hh[0]), torch.zeros_like(weight_hh[0]), []
    for x in vectors:
        i, f, g, o = (weight_ih @ x + bias_ih + weight_hh @ h + bias_hh).chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        seen.append(h)
    return torch.stack(seen)


def identity(x):
    return x + 0.0, lambda dy: (dy + 0.0,)


CASES = [
    Case(
        name="g2p_en",
        section="recurrent",
        title="English pronunciation by g2p-en's GRUs",
        reference=recurrent_translator,
        inputs=english_inputs,
        configs=(
            Config("words", {"first": 0, "last": 2}),
            Config("all", {"first": 0, "last": 10}, profile="full"),
            Config("measured", {"first": 0, "last": 3}, measured=True),
        ),
        peers={"torch": torch_translator},
        dtypes=("float64", "float32"),
        extended_truth=False,
        oracles=("autograd",),
        bugs={
            "encoder reads the padding": rewritten(
                recurrent_translator, ', lengths=lengths)\n    target', ")\n    target"
            ),
            "decoder begins with nothing": rewritten(
                recurrent_translator, "gru(target, thought,", "gru(target, 0 * thought,"
            ),
            "reset before the product": rewritten(recurrent_translator, gru=partial(gru, reset="before")),
            "gradient to the encoder lost": rewritten(
                recurrent_translator, "zeros_like(read), dthought", "zeros_like(read), 0 * dthought"
            ),
        },
    ),
    Case(
        name="g2pm",
        section="recurrent",
        title="Chinese pronunciation by g2pM's bidirectional LSTM",
        reference=recurrent_tagger,
        inputs=chinese_inputs,
        configs=(
            Config("sentences", {"first": 2, "last": 4}),
            Config("all", {"first": 0, "last": 4}, profile="full"),
            Config("measured", {"first": 0, "last": 4}, measured=True),
        ),
        peers={"torch": torch_tagger},
        dtypes=("float64", "float32"),
        extended_truth=False,
        oracles=("autograd",),
        bugs={
            "the reverse direction starts in the padding": rewritten(recurrent_tagger, ", lengths=lengths\n", "\n"),
            "gates in the order of ONNX": rewritten(
                recurrent_tagger, lstm=wrong_lstm(lstm, "gates in the order i o f c of ONNX")
            ),
            "no ReLU between the maps": rewritten(recurrent_tagger, relu=identity),
        },
    ),
]  # fmt: skip
