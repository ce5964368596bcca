import numpy as np
import pytest

from refimpl.layers.adaptive_softmax import adaptive_cross_entropy, adaptive_log_softmax
from refimpl.layers.linear import linear
from refimpl.layers.softmax import log_softmax

GENERATOR = np.random.default_rng(0)
SHAPES = {
    "tables.0.weight": (2, 4), "tables.0.bias": (2,), "tables.1.weight": (3, 2), "tables.1.bias": (3,),
    "projections.1.weight": (4, 2), "clusters.weight": (1, 4), "clusters.bias": (1,),
}  # fmt: skip
PARAMS = {key: GENERATOR.standard_normal(shape) for key, shape in SHAPES.items()}
X = GENERATOR.standard_normal((5, 4))
TARGETS = np.array([0, 4, -100, 2, 1])
EPS = np.finfo(float).eps


def test_probabilities_sum_to_1():
    y, _ = adaptive_log_softmax(X, PARAMS, cutoffs=(2,))
    assert np.all(np.abs(np.exp(y).sum(axis=-1) - 1.0) <= 32 * EPS)


def test_one_cluster_is_the_ordinary_softmax():
    params = {key: PARAMS[key] for key in ("tables.0.weight", "tables.0.bias")}
    y, _ = adaptive_log_softmax(X, params)
    want, _ = log_softmax(linear(X, {"weight": params["tables.0.weight"], "bias": params["tables.0.bias"]})[0])
    np.testing.assert_array_equal(y, want)


def test_the_loss_is_minus_the_log_probability_of_the_target():
    log_probs, _ = adaptive_log_softmax(X, PARAMS, cutoffs=(2,))
    losses, _ = adaptive_cross_entropy(X, TARGETS, PARAMS, cutoffs=(2,))
    want = np.where(TARGETS == -100, 0.0, -log_probs[np.arange(5), np.where(TARGETS == -100, 0, TARGETS)])
    assert np.all(np.abs(losses - want) <= 32 * EPS)
    assert losses[2] == 0.0


def test_ignored_states_may_hold_anything():
    spoiled = np.where((TARGETS == -100)[:, None], np.nan, X)
    for x in (X, spoiled):
        losses, pullback = adaptive_cross_entropy(x, TARGETS, PARAMS, cutoffs=(2,))
        dx, dparams = pullback(np.ones(5))
        assert np.all(np.isfinite(losses))
        assert not np.any(dx[2])
        assert all(np.all(np.isfinite(gradient)) for gradient in dparams.values())


def test_a_cluster_without_targets_gets_no_gradient():
    _, pullback = adaptive_cross_entropy(X, np.array([0, 1, 1, 0, -100]), PARAMS, cutoffs=(2,))
    _, dparams = pullback(np.ones(5))
    assert not np.any(dparams["tables.1.weight"])
    assert np.any(dparams["clusters.weight"])


def test_another_ignore_index():
    losses, _ = adaptive_cross_entropy(X, np.array([0, 1, 3, 3, 1]), PARAMS, cutoffs=(2,), ignore_index=3)
    np.testing.assert_array_equal(losses == 0.0, [False, False, True, True, False])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"clusters.weight": np.ones((2, 4))}, ValueError, r"clusters\.weight must have shape \(1, 4\), got \(2, 4\)"),
        ({"clusters.bias": np.ones(2)}, ValueError, r"clusters\.bias must have shape \(1,\), got \(2,\)"),
        ({"tables.1.bias": np.ones(2)}, ValueError, r"bias must have shape \(3,\), got \(2,\)"),
        ({"clusters.bias": np.ones(1, np.float32)}, TypeError, "must have the dtype of"),
        ({"stray": np.ones(1)}, ValueError, "params must have the keys .*got .*stray"),
    ],
)
@pytest.mark.parametrize("loss", [False, True])
def test_bad_params(loss, change, error, message):
    with pytest.raises(error, match=message):
        if loss:
            adaptive_cross_entropy(X, TARGETS, PARAMS | change, cutoffs=(2,))
        else:
            adaptive_log_softmax(X, PARAMS | change, cutoffs=(2,))


@pytest.mark.parametrize("missing", ["clusters.weight", "clusters.bias", "tables.1.bias", "tables.1.weight"])
def test_missing_params(missing):
    params = {key: x for key, x in PARAMS.items() if key != missing}
    with pytest.raises(ValueError, match=rf"params must have the keys .*{missing}"):
        adaptive_log_softmax(X, params, cutoffs=(2,))


@pytest.mark.parametrize(
    ("x", "targets", "error", "message"),
    [
        (X[:, :3], TARGETS, ValueError, r"x must have shape \(5, 4\), got \(5, 3\)"),
        (X, TARGETS[1:], ValueError, r"targets must have shape \(5,\), got \(4,\)"),
        (X, TARGETS + 1, ValueError, r"targets must lie in \[0, 5\), got values from -99 to 5"),
        (X, TARGETS * 1.0, TypeError, "targets must be an integer array, got dtype float64"),
    ],
)
def test_bad_arrays(x, targets, error, message):
    with pytest.raises(error, match=message):
        adaptive_cross_entropy(x, targets, PARAMS, cutoffs=(2,))
