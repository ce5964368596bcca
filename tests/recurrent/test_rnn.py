import numpy as np
import pytest

from refimpl.recurrent.rnn import rnn, rnn_cell

PARAMS = {"weight_ih": np.array([[2.0]]), "weight_hh": np.array([[-1.0]]), "bias_ih": np.array([0.5])}
STACK = {f"{key}_l0": value for key, value in PARAMS.items()}


def test_one_step_by_hand():
    y, pullback = rnn_cell(np.array([[1.0]]), np.array([[0.5]]), PARAMS, activation="relu")
    assert y.tolist() == [[2.0]]  # 2 · 1 - 0.5 + 0.5
    dx, dh, dparams = pullback(np.array([[3.0]]))
    assert (dx.tolist(), dh.tolist()) == ([[6.0]], [[-3.0]])
    assert {key: value.tolist() for key, value in dparams.items()} == {
        "weight_ih": [[3.0]], "weight_hh": [[1.5]], "bias_ih": [3.0],
    }  # fmt: skip


def test_a_sequence_by_hand():
    """States 2, 0, 4.5 with a ReLU: 2 x - h + 0.5 for x = 1, 0.5, 2 from h = 0.5."""
    x = np.array([[[1.0], [0.5], [2.0]]])
    (y, h_last), pullback = rnn(x, np.array([[[0.5]]]), STACK, activation="relu")
    assert y.tolist() == [[[2.0], [0.0], [4.5]]]
    assert h_last.tolist() == [[[4.5]]]
    dx, dh, _ = pullback((np.array([[[0.0], [0.0], [1.0]]]), np.zeros((1, 1, 1))))
    # The ReLU of the second step is off: nothing flows past it.
    assert (dx.tolist(), dh.tolist()) == ([[[0.0], [0.0], [2.0]]], [[[0.0]]])


def test_no_state_is_a_state_of_zeros_without_a_gradient():
    x = np.random.default_rng(0).standard_normal((2, 3, 1))
    (y, _), pullback = rnn(x, None, STACK)
    (y_zeros, _), pullback_zeros = rnn(x, np.zeros((1, 2, 1)), STACK)
    np.testing.assert_array_equal(y, y_zeros)
    assert (len(pullback((y, y[:, -1][None]))), len(pullback_zeros((y, y[:, -1][None])))) == (2, 3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_no_state_has_the_dtype_of_the_input(dtype):
    from refimpl.arrays import narrow

    params = {key: narrow(value, dtype) for key, value in STACK.items()}
    (y, h_last), _ = rnn(narrow(np.ones((1, 2, 1)), dtype), None, params)
    assert y.dtype == h_last.dtype == narrow(np.zeros(1), dtype).dtype


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activation": "gelu"}, "activation must be tanh or relu, got 'gelu'"),
        ({"n_layer": 0}, "n_layer must be positive, got 0"),
        ({"n_layer": 2}, "params must have the keys"),
        ({"bidirectional": True}, "weight_hh_l0_reverse"),
        ({"lengths": np.array([1, 2, 3])}, r"lengths must have shape \(2,\), got \(3,\)"),
        ({"lengths": np.array([1, 4])}, r"lengths must lie in \[0, 4\), got values from 1 to 4"),
        ({"keep": np.ones((1, 2, 3, 1), bool)}, r"keep must have shape \(0, 2, 3, 1\)"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        rnn(np.ones((2, 3, 1)), None, STACK, **change)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.ones((2, 3)), None), r"x must have shape \(any, any, any\), got \(2, 3\)"),
        ((np.ones((2, 0, 1)), None), "n_seq must be at least 1: there is nothing to read, got 0"),
        ((np.ones((2, 3, 4)), None), r"weight_ih_l0 must have shape \(1, 4\), got \(1, 1\)"),
        ((np.ones((2, 3, 1)), np.ones((1, 3, 1))), r"h must have shape \(1, 2, 1\), got \(1, 3, 1\)"),
    ],
)
def test_bad_shapes_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        rnn(*arrays, STACK)


def test_a_float_is_no_length():
    with pytest.raises(TypeError, match="lengths must be an integer array, got dtype float64"):
        rnn(np.ones((2, 3, 1)), None, STACK, lengths=np.array([1.0, 2.0]))


def test_a_cell_refuses_a_stack():
    with pytest.raises(ValueError, match="params must have the keys"):
        rnn_cell(np.ones((2, 1)), np.ones((2, 1)), STACK)
    with pytest.raises(ValueError, match=r"h must have shape \(2, 1\), got \(3, 1\)"):
        rnn_cell(np.ones((2, 1)), np.ones((3, 1)), PARAMS)
