import numpy as np
import pytest

from refimpl.recurrent.lstm import lstm, lstm_cell


def saturated(i, f, g, o):
    """Parameters whose gates are 0 or 1 (g: -1 or 1) to the last bit, whatever the input."""
    bias = np.array([900.0 if gate > 0 else -900.0 for gate in (i, f, g, o)])
    return {"weight_ih": np.zeros((4, 1)), "weight_hh": np.zeros((4, 1)), "bias_ih": bias}


X, H, C = np.ones((1, 1)), np.ones((1, 1)), np.array([[0.25]])


@pytest.mark.parametrize(
    ("gates", "memory", "shown"),
    [
        ((1, 1, 1, 1), 1.25, True),  # writes, keeps, shows
        ((1, 0, -1, 1), -1.0, True),  # overwrites
        ((0, 1, 1, 0), 0.25, False),  # keeps to itself
        ((0, 0, 1, 1), 0.0, True),  # forgets
    ],
)
def test_gates_by_hand(gates, memory, shown):
    (h, c), _ = lstm_cell(X, H, C, saturated(*gates))
    assert c.tolist() == [[memory]]
    np.testing.assert_array_equal(h, np.tanh(c) if shown else 0.0 * c)


def test_the_projection_is_what_the_next_step_sees():
    generator = np.random.default_rng(0)
    params = {
        "weight_ih": generator.standard_normal((20, 3)),
        "weight_hh": generator.standard_normal((20, 2)),
        "weight_hr": generator.standard_normal((2, 5)),
    }
    (h, c), _ = lstm_cell(np.ones((4, 3)), np.ones((4, 2)), np.ones((4, 5)), params)
    assert (h.shape, c.shape) == ((4, 2), (4, 5))
    bare = {key: value for key, value in params.items() if key != "weight_hr"}
    with pytest.raises(ValueError, match=r"weight_hh must have shape \(20, 5\), got \(20, 2\)"):
        lstm_cell(np.ones((4, 3)), np.ones((4, 2)), np.ones((4, 5)), bare)


def test_one_state_may_be_given_and_the_other_left_out():
    params = {f"{key}_l0": value for key, value in saturated(0, 1, 1, 1).items()}
    (_, _, c_last), pullback = lstm(X[:, None], None, C[None], params)
    np.testing.assert_array_equal(c_last, C[None])
    gradients = pullback((np.ones((1, 1, 1)), np.zeros((1, 1, 1)), np.ones((1, 1, 1))))
    assert [type(gradient) for gradient in gradients] == [np.ndarray, np.ndarray, dict]


def test_layers_of_different_size_are_refused():
    small = {f"{key}_l0": value for key, value in saturated(1, 1, 1, 1).items()}
    large = {"weight_ih_l1": np.zeros((8, 1)), "weight_hh_l1": np.zeros((8, 2))}
    with pytest.raises(ValueError, match="of the layers must be one and the same"):
        lstm(X[:, None], None, None, small | large, n_layer=2)


def test_states_of_the_wrong_size_are_refused():
    for h, c, name in ((np.ones((1, 2)), C, "h"), (H, np.ones((1, 2)), "c")):
        with pytest.raises(ValueError, match=rf"{name} must have shape \(1, 1\), got \(1, 2\)"):
            lstm_cell(X, h, c, saturated(1, 1, 1, 1))
