import numpy as np
import pytest

from refimpl.recurrent.gru import gru
from refimpl.recurrent.rnn import rnn
from refimpl.recurrent.truncated import truncated

# h = x + h, without any bend: every x reaches every later state with slope 1.
SUMS = {"weight_ih_l0": np.ones((1, 1)), "weight_hh_l0": np.ones((1, 1))}
X, H = np.ones((1, 5, 1)), np.zeros((1, 1, 1))


def test_the_gradient_counts_the_states_of_its_chunk():
    (y, h_last), pullback = truncated(X, H, None, SUMS, run=rnn, n_step=2, activation="relu")
    assert y[0, :, 0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert h_last.tolist() == [[[5.0]]]
    dx, dh, dparams = pullback((np.ones((1, 5, 1)), np.zeros((1, 1, 1))))
    assert dx[0, :, 0].tolist() == [2.0, 1.0, 2.0, 1.0, 1.0]
    assert dh.tolist() == [[[2.0]]]
    # The states before each step, times the gradients of the states: 0·2 + 1·1 + 2·2 + 3·1 + 4·1.
    assert dparams["weight_hh_l0"].tolist() == [[12.0]]


def test_lengths_are_cut_along():
    (y, h_last), _ = truncated(
        np.ones((3, 5, 1)), np.zeros((1, 3, 1)), None, SUMS, run=rnn, n_step=2, activation="relu",
        lengths=np.array([5, 3, 0]),
    )  # fmt: skip
    assert y[:, :, 0].tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 0.0, 0.0], [0.0] * 5]
    assert h_last[0, :, 0].tolist() == [5.0, 3.0, 0.0]


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="n_step must be positive, got 0"):
        truncated(X, H, None, SUMS, run=gru, n_step=0)
    with pytest.raises(ValueError, match="bidirectional must be False"):
        truncated(X, H, None, SUMS, run=rnn, n_step=2, bidirectional=True)
