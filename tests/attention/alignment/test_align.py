import numpy as np
import pytest

from refimpl.attention.alignment.align import align

STATES = np.array([[1.0, 2.0], [3.0, 6.0]])


def test_even_scores_give_the_mean():
    (gathered, weights), pullback = align(np.zeros((1, 2)), STATES)
    assert (gathered.tolist(), weights.tolist()) == ([[2.0, 4.0]], [[0.5, 0.5]])
    dscores, dstates = pullback((np.array([[1.0, 0.0]]), np.zeros((1, 2))))
    # Each weight moves by 1/4 of the difference of the states.
    assert (dscores.tolist(), dstates.tolist()) == ([[-0.5, 0.5]], [[0.5, 0.0], [0.5, 0.0]])


def test_the_weights_have_a_gradient_of_their_own():
    _, pullback = align(np.zeros((1, 2)), STATES)
    dscores, dstates = pullback((np.zeros((1, 2)), np.array([[1.0, 0.0]])))
    assert (dscores.tolist(), dstates.tolist()) == ([[0.25, -0.25]], [[0.0, 0.0], [0.0, 0.0]])


def test_states_must_be_as_many_as_scores():
    with pytest.raises(ValueError, match=r"states must have shape \(3, any\), got \(2, 2\)"):
        align(np.zeros((1, 3)), STATES)
