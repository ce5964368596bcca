import math

import numpy as np
import pytest

from refimpl.recurrent.gru import gru, gru_cell

# r, z and n see only their biases: r = 1/2, z = 1/4.
PARAMS = {
    "weight_ih": np.array([[0.0], [0.0], [1.0]]),
    "weight_hh": np.array([[0.0], [0.0], [2.0]]),
    "bias_ih": np.array([0.0, math.log(1.0 / 3.0), 0.0]),
    "bias_hh": np.array([0.0, 0.0, 4.0]),
}
ROUNDING = 16 * np.finfo(np.float64).eps  # exp, log, tanh and a handful of operations on numbers around 1


@pytest.mark.parametrize(
    ("reset", "inside"), [("after", 1.0 + 0.5 * (2.0 * 3.0 + 4.0)), ("before", 1.0 + 2.0 * 1.5 + 4.0)]
)
def test_one_step_by_hand(reset, inside):
    y, _ = gru_cell(np.array([[1.0]]), np.array([[3.0]]), PARAMS, reset=reset)
    want = 0.75 * math.tanh(inside) + 0.25 * 3.0
    assert abs(y[0, 0] - want) <= ROUNDING * want


def test_a_closed_update_gate_copies_the_state():
    params = PARAMS | {"bias_ih": np.array([0.0, 900.0, 0.0])}
    h = np.array([[3.0]])
    y, pullback = gru_cell(np.array([[1.0]]), h, params)
    np.testing.assert_array_equal(y, h)
    dx, dh, _ = pullback(np.array([[7.0]]))
    assert (dx.tolist(), dh.tolist()) == ([[0.0]], [[7.0]])


def test_an_unknown_reset_is_refused():
    for run, h in ((gru_cell, np.ones((1, 1))), (gru, None)):
        with pytest.raises(ValueError, match="reset must be after or before, got 'within'"):
            run(np.ones((1, 1)), h, PARAMS, reset="within")


def test_a_number_of_rows_that_is_no_multiple_of_three_is_refused():
    params = {"weight_ih": np.ones((4, 1)), "weight_hh": np.ones((4, 1))}
    with pytest.raises(ValueError, match="the number of rows of weight_hh must be a positive multiple of 3, got 4"):
        gru_cell(np.ones((1, 1)), np.ones((1, 1)), params)


def test_a_gru_has_no_projection():
    with pytest.raises(ValueError, match="params must have the keys"):
        gru_cell(np.ones((1, 1)), np.ones((1, 1)), PARAMS | {"weight_hr": np.ones((1, 1))})
