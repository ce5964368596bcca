import math

import numpy as np
import pytest

from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask
from refimpl.attention.relative.shaw import shaw_attention

RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=(2, 5, d)) for d in (3, 3, 4))
PARAMS = {"relative_key.weight": RNG.normal(size=(5, 3)), "relative_value.weight": RNG.normal(size=(5, 4))}


def test_by_hand():
    """Queries of zeros weigh both keys alike: the values 1 and 3, moved by 0 and 10, or by -10 and 0."""
    params = {"relative_key.weight": np.ones((3, 1)), "relative_value.weight": np.array([[-10.0], [0.0], [10.0]])}
    y, pullback = shaw_attention(np.zeros((2, 1)), np.ones((2, 1)), np.array([[1.0], [3.0]]), params)
    np.testing.assert_array_equal(y, [[7], [-3]])
    dq, _, dv, dparams = pullback(np.array([[2.0], [4.0]]))
    np.testing.assert_array_equal(dv, [[3], [3]])
    np.testing.assert_array_equal(dparams["relative_value.weight"], [[2], [1 + 2], [1]])
    # Raising both keys alike moves no weight.
    np.testing.assert_array_equal(dq, np.zeros((2, 1)))


def test_zeros_are_plain_attention():
    params = {key: np.zeros_like(table) for key, table in PARAMS.items()}
    y, pullback = shaw_attention(Q, K, V, params)
    plain, plain_pullback = attention(Q, K, V)
    np.testing.assert_array_equal(y, plain)
    for got, want in zip(pullback(plain)[:3], plain_pullback(plain), strict=True):
        np.testing.assert_array_equal(got, want)


def test_far_keys_share_a_row():
    """With distances up to 1 and five positions, rows 0 and 2 are used by all that are farther away."""
    near = {key: table[1:4] for key, table in PARAMS.items()}
    spread = {key: table[[0, 0, 0, 1, 2, 2, 2]] for key, table in near.items()}
    np.testing.assert_array_equal(shaw_attention(Q, K, V, near)[0], shaw_attention(Q, K, V, spread)[0])


def test_decoding_is_the_last_row():
    whole, _ = shaw_attention(Q, K, V, PARAMS, mask=causal_mask(5, 5, like=Q))
    last, _ = shaw_attention(Q[:, -1:], K, V, PARAMS, mask=causal_mask(1, 5, like=Q))
    assert np.all(np.abs(last - whole[:, -1:]) <= 32 * np.finfo(np.float64).eps * (1.0 + np.abs(last)))


def test_padding_may_hold_nan():
    mask = np.array([[True, True, False, True, True]])
    q, k, v = (np.where(np.arange(5)[:, None] == 2, math.nan, x) for x in (Q, K, V))
    y, pullback = shaw_attention(Q, k, v, PARAMS, mask=mask)
    np.testing.assert_array_equal(y, shaw_attention(Q, K, V, PARAMS, mask=mask)[0])
    dq, dk, dv, dparams = pullback(y)
    assert all(np.all(np.isfinite(x)) for x in (dq, dk, dv, *dparams.values()))
    y, pullback = shaw_attention(q, K, V, PARAMS, mask=mask.T)
    np.testing.assert_array_equal(y[:, 2], np.zeros((2, 4)))
    dq, dk, dv, dparams = pullback(np.ones_like(y))
    assert all(np.all(np.isfinite(x)) for x in (dq, dk, dv, *dparams.values()))


@pytest.mark.parametrize(
    ("change", "settings", "error", "message"),
    [
        ({"params": {"relative_key.weight": np.ones((4, 3))}}, {}, ValueError, "relative positions must be odd.*got 4"),
        ({"params": {"relative_key.weight": np.ones((5, 2))}}, {}, ValueError, r"must have shape \(5, 3\)"),
        (
            {"params": PARAMS | {"relative_value.weight": np.ones((3, 4))}}, {}, ValueError,
            r"relative_value.weight must have shape \(5, 4\), got \(3, 4\)",
        ),
        ({"params": {"relative_value.weight": np.ones((5, 4))}}, {}, ValueError, "params must have the keys"),
        ({"k": np.ones((2, 5, 2))}, {}, ValueError, r"k must have shape \(2, any, 3\)"),
        ({"v": np.ones((2, 4, 4))}, {}, ValueError, r"v must have shape \(2, 5, any\)"),
        ({}, {"mask": np.ones((5, 5))}, TypeError, "mask must be a boolean array"),
        ({}, {"mask": np.ones((3, 5), bool)}, ValueError, "mask must broadcast to"),
    ],
)  # fmt: skip
def test_bad_input(change, settings, error, message):
    arguments = {"q": Q, "k": K, "v": V, "params": PARAMS} | change
    with pytest.raises(error, match=message):
        shaw_attention(*arguments.values(), **settings)
