"""Faults of generation that other implementations really had; the numbers name the public reports."""

import numpy as np

from refimpl.generation.repetition import repetition_penalty


def test_G2_the_repetition_penalty_multiplies_negative_logits_and_divides_positive_ones():
    """NeMo 8194: divided, a negative logit grows, and what came before comes again the more."""
    logits = np.array([[3.0, -3.0, 3.0, -3.0]])
    penalised = repetition_penalty(logits, np.array([[0, 1]]), penalty=1.5)
    np.testing.assert_array_equal(penalised, [[2.0, -4.5, 3.0, -3.0]])
