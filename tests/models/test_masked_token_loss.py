"""The masked-token loss looks at masked positions only."""

import math

import numpy as np
import pytest

from refimpl.models.masked_token_loss import masked_token_loss


def test_an_undecided_model_is_surprised_by_the_logarithm_of_the_vocabulary():
    x, table = np.zeros((2, 3, 4)), np.ones((7, 4))
    y, _ = masked_token_loss(x, np.array([1, 4]), np.array([6, 0]), {"weight": table})
    assert y.shape == ()
    # One logarithm and one division of rounded numbers near 2.
    assert abs(float(y) - math.log(7)) <= 4 * np.spacing(2.0)


def test_other_positions_have_no_say(generator):
    x = generator.standard_normal((2, 3, 4))
    positions, targets = np.array([1, 4]), np.array([5, 2])
    params = {"weight": generator.standard_normal((7, 4)), "bias": generator.standard_normal(7)}
    y, pullback = masked_token_loss(x, positions, targets, params)
    others = np.ones(6, bool)
    others[positions] = False
    changed = x.copy()
    changed.reshape(6, 4)[others] = np.nan
    assert masked_token_loss(changed, positions, targets, params)[0] == y
    dx, dparams = pullback(np.array(1.0))
    assert not dx.reshape(6, 4)[others].any()
    assert dx.reshape(6, 4)[positions].all()
    assert dparams.keys() == params.keys()


def test_bad_input_is_named():
    x, params = np.zeros((2, 3, 4)), {"weight": np.zeros((7, 4))}
    with pytest.raises(ValueError, match="positions"):
        masked_token_loss(x, np.array([6]), np.array([0]), params)
    with pytest.raises(ValueError, match="targets"):
        masked_token_loss(x, np.array([1]), np.array([7]), params)
    with pytest.raises(ValueError, match="targets"):
        masked_token_loss(x, np.array([1, 2]), np.array([0]), params)
