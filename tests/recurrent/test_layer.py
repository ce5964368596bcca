import numpy as np

from compare.interpretations import cost
from refimpl.recurrent.gru import gru
from refimpl.recurrent.rnn import rnn

SUMS = {"weight_ih_l0": np.ones((1, 1)), "weight_hh_l0": np.ones((1, 1))}
BOTH = SUMS | {f"{key}_reverse": value for key, value in SUMS.items()}


def test_each_direction_starts_at_the_sequences_own_end():
    x = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, np.nan, np.inf]])[..., None]
    (y, h_last), pullback = rnn(x, None, BOTH, bidirectional=True, activation="relu", lengths=np.array([4, 2]))
    assert y[..., 0].tolist() == [[1.0, 3.0, 6.0, 10.0], [1.0, 3.0, 0.0, 0.0]]
    assert y[..., 1].tolist() == [[10.0, 9.0, 7.0, 4.0], [3.0, 2.0, 0.0, 0.0]]
    assert h_last[..., 0].tolist() == [[10.0, 3.0], [10.0, 3.0]]
    dx, _ = pullback((np.zeros_like(y), np.ones_like(h_last)))
    assert dx[..., 0].tolist() == [[2.0] * 4, [2.0, 2.0, 0.0, 0.0]]


def test_an_empty_sequence_keeps_its_state_and_hands_the_gradient_back():
    h = np.array([[[5.0], [7.0]]])
    (y, h_last), pullback = rnn(np.ones((2, 3, 1)), h, SUMS, activation="relu", lengths=np.array([3, 0]))
    assert (y[1].tolist(), h_last[0].tolist()) == ([[0.0]] * 3, [[8.0], [7.0]])
    dx, dh, _ = pullback((np.ones_like(y), np.ones_like(h_last)))
    assert dx[1].tolist() == [[0.0]] * 3
    assert dh[0].tolist() == [[4.0], [1.0]]


def test_the_map_of_the_input_is_one_product_for_all_positions():
    """Work grows with the length as it must: twice the positions, twice the operations."""
    flops = []
    for n_seq in (8, 16):
        params = {"weight_ih_l0": cost.empty((48, 16), "float32"), "weight_hh_l0": cost.empty((48, 16), "float32")}
        with cost.tracking() as tracker:
            gru(cost.empty((4, n_seq, 16), "float32"), None, params)
        flops.append(tracker.flops)
    assert 1.9 < flops[1] / flops[0] < 2.1
