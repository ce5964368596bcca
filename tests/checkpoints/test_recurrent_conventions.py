"""The converters, against the equations as ONNX and Keras write them, with their own arrays."""

import numpy as np
import pytest

from refimpl.checkpoints.recurrent_conventions import from_keras, from_onnx, reorder_gates, to_keras, to_onnx
from refimpl.recurrent.gru import gru, gru_cell
from refimpl.recurrent.lstm import lstm, lstm_cell
from refimpl.recurrent.rnn import rnn_cell
from tests.cases_reported.test_recurrent import random_params

D_IN, D_HIDDEN = 3, 4
GENERATOR = np.random.default_rng(0)
X, H, C = (GENERATOR.standard_normal((2, d)) for d in (D_IN, D_HIDDEN, D_HIDDEN))
# Sums of 3 and 4 products and a few functions, of numbers below 10: 100 roundings are many more than there are.
BOUND = 100 * 10 * np.finfo(np.float64).eps


def f(x):
    return 1.0 / (1.0 + np.exp(-x))


def assert_near(got, want):
    assert np.max(np.abs(got - want)) <= BOUND


def test_onnx_lstm():
    """Equations of the operator LSTM-14: it = f(Xt Wi' + Ht-1 Ri' + Wbi + Rbi), and so on in the order i o f c."""
    params = random_params("lstm", D_IN, D_HIDDEN)
    tensors = to_onnx({f"{key}_l0": value for key, value in params.items()}, kind="lstm")
    w, r, b = tensors["W"][0], tensors["R"][0], tensors["B"][0]
    it, ot, ft, ct = np.split(X @ w.T + H @ r.T + b[:16] + b[16:], 4, axis=1)
    memory = f(ft) * C + f(it) * np.tanh(ct)
    got, _ = lstm_cell(X, H, C, params)
    assert_near(got[1], memory)
    assert_near(got[0], f(ot) * np.tanh(memory))


@pytest.mark.parametrize(("linear_before_reset", "reset"), [(1, "after"), (0, "before")])
def test_onnx_gru(linear_before_reset, reset):
    """Equations of the operator GRU-14, in the order z r h."""
    params = random_params("gru", D_IN, D_HIDDEN)
    tensors = to_onnx({f"{key}_l0": value for key, value in params.items()}, kind="gru")
    w, r = (np.split(tensors[key][0], 3) for key in "WR")
    wb, rb = (np.split(half, 3) for half in np.split(tensors["B"][0], 2))
    zt = f(X @ w[0].T + H @ r[0].T + wb[0] + rb[0])
    rt = f(X @ w[1].T + H @ r[1].T + wb[1] + rb[1])
    inside = rt * (H @ r[2].T + rb[2]) if linear_before_reset else (rt * H) @ r[2].T + rb[2]
    got, _ = gru_cell(X, H, params, reset=reset)
    assert_near(got, (1.0 - zt) * np.tanh(X @ w[2].T + inside + wb[2]) + zt * H)


def test_keras_lstm():
    """`keras.layers.LSTMCell`: z = x kernel + h recurrent_kernel + bias, split into i f c o."""
    params = random_params("lstm", D_IN, D_HIDDEN)
    weights = to_keras(params, kind="lstm")
    z0, z1, z2, z3 = np.split(X @ weights["kernel"] + H @ weights["recurrent_kernel"] + weights["bias"], 4, axis=1)
    memory = f(z1) * C + f(z0) * np.tanh(z2)
    got, _ = lstm_cell(X, H, C, params)
    assert_near(got[1], memory)
    assert_near(got[0], f(z3) * np.tanh(memory))
    assert_near(lstm_cell(X, H, C, from_keras(weights, kind="lstm"))[0][0], got[0])


@pytest.mark.parametrize("reset", ["after", "before"])
def test_keras_gru(reset):
    """`keras.layers.GRUCell`: two rows of biases with ``reset_after=True``, one without; z r h."""
    params = random_params("gru", D_IN, D_HIDDEN)
    weights = to_keras(params, kind="gru", reset=reset)
    of_x, of_h = (np.split(weights[name], 3, axis=1) for name in ("kernel", "recurrent_kernel"))
    bias = weights["bias"]
    assert bias.shape == ((2, 12) if reset == "after" else (12,))
    b, c = (np.split(row, 3) for row in (bias if reset == "after" else (bias, 0.0 * bias)))
    z, r = (f(X @ of_x[i] + b[i] + H @ of_h[i] + c[i]) for i in (0, 1))
    inside = r * (H @ of_h[2] + c[2]) if reset == "after" else (r * H) @ of_h[2]
    got, _ = gru_cell(X, H, params, reset=reset)
    assert_near(got, z * H + (1.0 - z) * np.tanh(X @ of_x[2] + b[2] + inside))
    assert_near(gru_cell(X, H, from_keras(weights, kind="gru"), reset=reset)[0], got)


def test_keras_simple_rnn():
    params = random_params("rnn", D_IN, D_HIDDEN)
    weights = to_keras(params, kind="rnn")
    want = np.tanh(X @ weights["kernel"] + weights["bias"] + H @ weights["recurrent_kernel"])
    assert_near(rnn_cell(X, H, params)[0], want)


def test_a_second_layer_in_both_directions():
    params = {
        f"{key}_l1{way}": value
        for seed, way in enumerate(("", "_reverse"))
        for key, value in random_params("lstm", D_IN, D_HIDDEN, seed).items()
    }
    tensors = to_onnx(params, kind="lstm", layer=1, bidirectional=True)
    assert {key: x.shape for key, x in tensors.items()} == {"W": (2, 16, 3), "R": (2, 16, 4), "B": (2, 32)}
    for key, value in from_onnx(tensors, kind="lstm", layer=1).items():
        np.testing.assert_array_equal(value, params[key])


def test_absent_biases_are_zeros_in_onnx_and_absent_in_keras():
    bare = {key: value for key, value in random_params("gru", D_IN, D_HIDDEN).items() if "bias" not in key}
    tensors = to_onnx({f"{key}_l0": value for key, value in bare.items()}, kind="gru")
    assert np.all(tensors.pop("B") == 0.0)
    assert to_keras(bare, kind="gru").keys() == {"kernel", "recurrent_kernel"}
    assert from_keras(to_keras(bare, kind="gru"), kind="gru").keys() == bare.keys()
    assert from_onnx(tensors, kind="gru").keys() == {"weight_ih_l0", "weight_hh_l0"}


def test_what_cannot_be_converted_is_refused():
    params = random_params("lstm", D_IN, D_HIDDEN)
    projected = {f"{key}_l0": value for key, value in params.items()} | {"weight_hr_l0": np.ones((2, 4))}
    with pytest.raises(ValueError, match="params must be without a projection: ONNX has none"):
        to_onnx(projected, kind="lstm")
    with pytest.raises(ValueError, match="params must be without a projection: Keras has none"):
        to_keras(params | {"weight_hr": np.ones((2, 4))}, kind="lstm")
    with pytest.raises(ValueError, match="kind must be one of rnn, lstm, gru, got 'qrnn'"):
        to_keras(params, kind="qrnn")
    with pytest.raises(ValueError, match="target must be one of torch, onnx, keras, got 'caffe'"):
        reorder_gates(np.ones((4, 1)), kind="lstm", source="torch", target="caffe")
    with pytest.raises(ValueError, match="the number of rows must be a multiple of 4, got 6"):
        reorder_gates(np.ones((6, 1)), kind="lstm", source="torch", target="onnx")
    with pytest.raises(ValueError, match=r"R must have shape \(1, 16, 4\), got \(1, 16, 3\)"):
        from_onnx({"W": np.ones((1, 16, 3)), "R": np.ones((1, 16, 3))}, kind="lstm")


def test_whole_networks_read_the_same_after_a_trip():
    for kind, run, states in (("gru", gru, 1), ("lstm", lstm, 2)):
        params = {f"{key}_l0": value for key, value in random_params(kind, D_IN, D_HIDDEN).items()}
        back = from_onnx(to_onnx(params, kind=kind), kind=kind)
        x = np.stack([X, 2.0 * X], axis=1)
        np.testing.assert_array_equal(run(x, *(None,) * states, back)[0][0], run(x, *(None,) * states, params)[0][0])
