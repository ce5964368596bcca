"""Faults of recurrent networks that other implementations really had; the numbers name the public reports."""

import numpy as np
import pytest
from hypothesis import given

from compare import strategies
from refimpl.checkpoints.recurrent_conventions import from_keras, from_onnx, reorder_gates, to_keras, to_onnx
from refimpl.recurrent.gru import gru_cell
from refimpl.recurrent.lstm import lstm, lstm_cell
from tests.properties import draw_recurrent
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run


def random_params(kind, d_in, d_hidden, seed=0):
    required, optional = draw_recurrent.cell_shapes(kind, d_in, d_hidden)
    generator = np.random.default_rng(seed)
    return {key: generator.standard_normal(shape) for key, shape in (required | optional).items()}


def test_R1_the_two_resets_are_two_variants_and_both_are_right():
    """onnxscript 2852: on random weights they differ by about 0.1; each is what its equation says."""
    generator = np.random.default_rng(1)
    x, h = generator.standard_normal((64, 5)), generator.standard_normal((64, 8))
    params = random_params("gru", 5, 8)
    found = {reset: gru_cell(x, h, params, reset=reset)[0] for reset in ("after", "before")}
    assert 0.05 < np.mean(np.abs(found["after"] - found["before"])) < 0.5

    w, u = np.split(params["weight_ih"], 3), np.split(params["weight_hh"], 3)
    b, c = np.split(params["bias_ih"], 3), np.split(params["bias_hh"], 3)
    r, z = (1.0 / (1.0 + np.exp(-(x @ w[i].T + b[i] + h @ u[i].T + c[i]))) for i in (0, 1))
    candidates = {
        "after": np.tanh(x @ w[2].T + b[2] + r * (h @ u[2].T + c[2])),
        "before": np.tanh(x @ w[2].T + b[2] + (r * h) @ u[2].T + c[2]),
    }
    for reset, n in candidates.items():
        call = Call({"x": x, "h": h}, params, {"reset": reset})
        sigma = spread_run(component_of(gru_cell), call)[0]["y"].sigma
        assert_close(found[reset], (1.0 - z) * n + z * h, sigma, name=reset)


@given(draw_recurrent.cell_calls("lstm"))
def test_R2_two_biases_matter_by_their_sum_and_have_the_same_gradient(call):
    """keras-onnx 98: y depends on bias_ih + bias_hh; the gradient of each is the same, bit for bit."""
    n_row = call.params["weight_ih"].shape[0]
    generator = np.random.default_rng(call.seed)
    # Multiples of 2^-20, so that adding them to each other rounds nothing.
    b, c = (np.round(generator.standard_normal(n_row) * 2.0**20) / 2.0**20 for _ in range(2))
    weights = {key: x for key, x in call.params.items() if "bias" not in key}
    component = component_of(lstm_cell)
    two = Call(call.arrays, weights | {"bias_ih": b, "bias_hh": c}, {}, call.seed)
    one = Call(call.arrays, weights | {"bias_ih": b + c}, {}, call.seed)
    (y, gradients), (spreads, _) = component.run(two), spread_run(component, one)
    for name, value in component.run(one)[0].items():
        assert_close(y[name], value, spreads[name].sigma, name=name)
    np.testing.assert_array_equal(gradients["params.bias_ih"], gradients["params.bias_hh"])


@pytest.mark.parametrize("gate", range(4))
def test_R3_every_gate_uses_its_own_bias(gate):
    """numpy-ml 42: a bias in one gate alone moves that gate and no other."""
    arrays = (np.zeros((1, 2)), np.zeros((1, 3)), np.ones((1, 3)))
    params = {"weight_ih": np.zeros((12, 2)), "weight_hh": np.zeros((12, 3)), "bias_ih": np.zeros(12)}
    bias = np.where(np.arange(12) // 3 == gate, 800.0, 0.0)
    (h, c), _ = lstm_cell(*arrays, params | {"bias_ih": bias})
    half = 0.5  # the sigmoid of 0
    # Without any bias i = f = o = 1/2 and g = 0.
    i, f, g, o = (1.0 if gate == place else base for place, base in enumerate((half, half, 0.0, half)))
    np.testing.assert_array_equal(c, np.full((1, 3), f + i * g))
    np.testing.assert_array_equal(h, o * np.tanh(c))


@pytest.mark.parametrize(("kind", "order"), [("lstm", {"torch": "ifgo", "onnx": "iofg", "keras": "ifgo"}),
                                             ("gru", {"torch": "rzn", "onnx": "zrn", "keras": "zrn"})])  # fmt: skip
def test_R4_gate_orders_are_converted_both_ways(kind, order):
    """CrispASR 106: i f g o in PyTorch, i o f c in ONNX, i f c o in Keras, where c is the g of PyTorch."""
    for source, letters in order.items():
        rows = np.repeat(np.array([ord(letter) for letter in letters], np.float64), 2)[:, None]
        for target, wanted in order.items():
            found = reorder_gates(rows, kind=kind, source=source, target=target)
            assert "".join(chr(int(row)) for row in found[::2, 0]) == wanted
            np.testing.assert_array_equal(reorder_gates(found, kind=kind, source=target, target=source), rows)


@given(strategies.sizes(2), strategies.generators())
def test_R4_parameters_come_back_from_onnx_and_from_keras(sizes, generator):
    d_in, d_hidden = sizes
    for kind in ("rnn", "gru", "lstm"):
        params = random_params(kind, d_in, d_hidden, generator)
        stacked = {f"{key}_l0{way}": x for key, x in params.items() for way in ("", "_reverse")}
        back = from_onnx(to_onnx(stacked, kind=kind, bidirectional=True), kind=kind)
        assert back.keys() == stacked.keys()
        for key, x in back.items():
            np.testing.assert_array_equal(x, stacked[key])
        of_keras = from_keras(to_keras(params, kind=kind), kind=kind)
        for key in of_keras.keys() - {"bias_ih"}:
            np.testing.assert_array_equal(of_keras[key], params[key])
        want = params["bias_ih"] if kind == "gru" else params["bias_ih"] + params["bias_hh"]
        np.testing.assert_array_equal(of_keras["bias_ih"], want)


def test_R4_the_memory_survives_a_trip_through_another_order():
    """Weights in ONNX's order, read as if they were PyTorch's, give another memory: what the report was about."""
    params = {f"{key}_l0": x for key, x in random_params("lstm", 3, 4).items()}
    x = np.random.default_rng(2).standard_normal((2, 5, 3))
    as_onnx = {key: reorder_gates(value, kind="lstm", source="torch", target="onnx") for key, value in params.items()}
    (y, *_), _ = lstm(x, None, None, params)
    (misread, *_), _ = lstm(x, None, None, as_onnx)
    assert np.max(np.abs(y - misread)) > 0.1
    back = {key: reorder_gates(value, kind="lstm", source="onnx", target="torch") for key, value in as_onnx.items()}
    np.testing.assert_array_equal(lstm(x, None, None, back)[0][0], y)
