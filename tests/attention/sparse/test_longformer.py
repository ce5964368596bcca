"""Longformer's attention: what sees what, the projections of the global tokens, and what it costs."""

import numpy as np
import pytest

from compare.interpretations import cost
from refimpl.attention.sparse.gather import gather_rows
from refimpl.attention.sparse.longformer import GLOBAL, LOCAL, longformer_attention


def given(*, n_batch=2, n_seq=9, d_model=6):
    generator = np.random.default_rng(13)
    params = {f"{name}.weight": generator.standard_normal((d_model, d_model)) for name in LOCAL + GLOBAL}
    return generator.standard_normal((n_batch, n_seq, d_model)), params


def influence(x, ids, params, **settings):
    """Which inputs move which outputs: (n_seq, n_seq), by complex step."""
    moved = []
    for j in range(x.shape[1]):
        step = 1e-100j * (np.arange(x.shape[1]) == j)[:, None] * np.ones(x.shape[-1])
        complex_params = {key: value.astype(complex) for key, value in params.items()}
        y, _ = longformer_attention(x + step, ids, complex_params, **settings)
        moved.append(np.any(y.imag != 0.0, axis=(0, 2)))
    return np.array(moved).T


def test_who_sees_whom():
    x, params = given(n_batch=1)
    seen = influence(x, np.array([[4]]), params, n_head=2, reach=1)
    for i in range(9):
        for j in range(9):
            assert seen[i, j] == (abs(i - j) <= 1 or 4 in (i, j))


def test_without_global_tokens_their_projections_mean_nothing():
    x, params = given()
    none = np.full((2, 3), 9)
    y, pullback = longformer_attention(x, none, params, n_head=3, reach=2)
    _, dparams = pullback(y)
    np.testing.assert_array_equal(y, longformer_attention(x, np.zeros((2, 0), int), params, n_head=3, reach=2)[0])
    for name in GLOBAL:
        np.testing.assert_array_equal(dparams[f"{name}.weight"], 0.0)


def test_all_global_is_full_attention_by_their_projections():
    x, params = given()
    everyone = np.broadcast_to(np.arange(9), (2, 9))
    y, pullback = longformer_attention(x, everyone, params, n_head=3, reach=2)
    swapped = {**params, **{f"{a}.weight": params[f"{b}.weight"] for a, b in zip(LOCAL, LOCAL[::-1], strict=True)}}
    np.testing.assert_array_equal(y, longformer_attention(x, everyone, swapped, n_head=3, reach=2)[0])
    for name in LOCAL:
        np.testing.assert_array_equal(pullback(y)[1][f"{name}.weight"], 0.0)


def test_padding_may_hold_nan_and_gives_0():
    x, params = given()
    mask = (np.arange(9) < 6)[None, None, None, :] & np.ones((2, 1, 1, 1), bool)
    ids = np.array([[0, 3], [5, 9]])
    clean, clean_pullback = longformer_attention(x, ids, params, n_head=2, reach=2, mask=mask)
    spoilt = np.where(mask[:, 0, 0, :, None], x, np.nan)
    y, pullback = longformer_attention(spoilt, ids, params, n_head=2, reach=2, mask=mask)
    np.testing.assert_array_equal(y, clean)
    np.testing.assert_array_equal(y[:, 6:], 0.0)
    (dx, dparams), (clean_dx, clean_dparams) = pullback(y), clean_pullback(clean)
    np.testing.assert_array_equal(dx, clean_dx)
    np.testing.assert_array_equal(dx[:, 6:], 0.0)
    for key, gradient in dparams.items():
        np.testing.assert_array_equal(gradient, clean_dparams[key])


def test_gathered_rows_and_back():
    x = np.arange(1.0, 7.0).reshape(1, 3, 2)
    y, pullback = gather_rows(x, np.array([[2, 3, 0, 2]]))
    assert y.tolist() == [[[5, 6], [0, 0], [1, 2], [5, 6]]]
    assert pullback(np.ones_like(y))[0].tolist() == [[[1, 1], [0, 0], [2, 2]]]


def test_the_cost_is_linear_in_the_length():
    def costs(n):
        params = {f"{name}.weight": cost.empty((16, 16), "float32") for name in LOCAL + GLOBAL}
        with cost.tracking() as tracker:
            x, ids = cost.empty((1, n, 16), "float32"), cost.empty((1, 2), "int64")
            y, pullback = longformer_attention(x, ids, params, n_head=2, reach=8)
            kept = (y, pullback(y))
        assert kept
        return tracker.peak_bytes, tracker.by_word["matmul"].flops

    for figures in zip(*(costs(n) for n in (256, 512, 768, 1024)), strict=True):
        first, *others = np.diff(figures)
        assert all(step == first for step in others)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"n_head": 4}, ValueError, "n_head must be a divisor of d_model = 6, got 4"),
        ({"reach": -1}, ValueError, "reach must be at least 0, got -1"),
        (
            {"global_ids": np.array([[0], [10]])},
            ValueError,
            r"global_ids must lie in \[0, 10\), got values from 0 to 10",
        ),
        ({"global_ids": np.array([[0, 0], [1, 2]])}, ValueError, "global_ids must be different positions"),
        ({"global_ids": np.array([0, 1])}, ValueError, r"global_ids must have shape \(2, any\), got \(2,\)"),
        ({"global_ids": np.zeros((2, 1))}, TypeError, "global_ids must be an integer array"),
        ({"mask": np.ones((2, 9), bool)}, ValueError, r"mask must have shape \(2, 1, 1, 9\), got \(2, 9\)"),
        ({"mask": np.ones((2, 1, 1, 9))}, TypeError, "mask must be a boolean array"),
        ({"params": {}}, ValueError, "params must have the keys"),
    ],
)
def test_refusals(changed, error, message):
    x, params = given()
    settings = {"x": x, "global_ids": np.array([[0], [1]]), "params": params, "n_head": 2, "reach": 1} | changed
    with pytest.raises(error, match=message):
        longformer_attention(**settings)
