"""Faults of optimisers that other implementations really had; the numbers name the public reports."""

import numpy as np

from refimpl.training.adamw import Moments, adamw


def test_T2_adamw_is_not_adam_with_an_l2_term():
    """pytorch 42843: in the gradient, the decay is divided by the root of the second moment, and is one for all."""
    params = {"large": np.array([8.0]), "small": np.array([0.5])}
    still = {key: np.zeros(1) for key in params}
    settings = {"learning_rate": 0.25, "weight_decay": 0.5}
    decayed, _ = adamw(params, still, Moments(), **settings)
    assert {key: float(x[0]) for key, x in decayed.items()} == {"large": 7.0, "small": 0.4375}
    # With an L2 term both would go the same way, one learning rate, whatever their size.
    slopes = {key: 0.5 * x for key, x in params.items()}
    l2, _ = adamw(params, slopes, Moments(), learning_rate=0.25, weight_decay=0.0, eps=0.0)
    assert [float((params[key] - l2[key])[0]) for key in params] == [0.25, 0.25]
