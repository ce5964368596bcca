from itertools import pairwise

import numpy as np
import pytest

from compare.cases.draw import normal_params
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.mask import causal_mask, padding_mask
from refimpl.attention.multi_head import self_attention
from refimpl.attention.multi_head_decode import self_attention_decode
from tests.properties.component import Call
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

SHAPES = {"in_proj_weight": (18, 6), "in_proj_bias": (18,), "out_proj.weight": (6, 6), "out_proj.bias": (6,)}
PARAMS = normal_params(np.random.default_rng(1), SHAPES)
X = np.random.default_rng(0).standard_normal((2, 5, 6))
IS_TOKEN = np.array([[False, False, True, True, True], [True] * 5])


@pytest.mark.parametrize("is_token", [None, IS_TOKEN], ids=["in full", "padded"])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("bounds", [[0, 5], [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]])
def test_any_split_is_the_whole(bounds, biased, is_token):
    params = PARAMS if biased else {key: value for key, value in PARAMS.items() if "bias" not in key}
    causal = causal_mask(5, 5, like=X)
    mask = causal if is_token is None else causal & padding_mask(is_token)
    call = Call({"x": X}, params, {"n_head": 3, "mask": mask})
    component = component_of(self_attention)
    past, parts = empty_cache(2, 3, 2, like=X), []
    for start, stop in pairwise(bounds):
        here = None if is_token is None else is_token[:, start:stop]
        y, past = self_attention_decode(X[:, start:stop], params, past, n_head=3, is_token=here)
        parts.append(y)
    sigma = spread_run(component, call)[0]["y"].sigma
    assert_close(np.concatenate(parts, axis=1), component(call)[0], sigma, name="y")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": X[..., :5]}, ValueError, "n_head must be a divisor of d_model = 5, got 3"),
        ({"x": X.astype(np.float32)}, TypeError, "must have the dtype of x, float32, got float64"),
        ({"n_head": 4}, ValueError, "n_head must be a divisor of d_model = 6, got 4"),
        ({"n_head": 2}, ValueError, "k must have shape"),
        ({"is_token": IS_TOKEN[:, :4]}, ValueError, r"is_token must have shape \(2, 5\), got \(2, 4\)"),
        ({"is_token": IS_TOKEN * 1}, TypeError, "is_token must be a boolean array"),
        ({"params": {}}, ValueError, "params must have the keys"),
    ],
)
def test_bad_input(change, error, message):
    given = {"x": X, "params": PARAMS, "past": empty_cache(2, 3, 2, like=X), "n_head": 3} | change
    with pytest.raises(error, match=message):
        self_attention_decode(given.pop("x"), given.pop("params"), given.pop("past"), **given)
