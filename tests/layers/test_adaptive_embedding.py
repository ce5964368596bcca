import numpy as np
import pytest

from refimpl.layers.adaptive_clusters import cluster_bounds
from refimpl.layers.adaptive_embedding import adaptive_embedding

GENERATOR = np.random.default_rng(0)
PARAMS = {
    "tables.0.weight": GENERATOR.standard_normal((2, 4)),
    "tables.1.weight": GENERATOR.standard_normal((3, 2)),
    "projections.1.weight": GENERATOR.standard_normal((4, 2)),
}
IDS = np.array([[0, 4], [1, 2]])


def test_every_token_has_the_row_of_its_cluster():
    y, _ = adaptive_embedding(IDS, PARAMS, cutoffs=(2,))
    table, projection = PARAMS["tables.1.weight"], PARAMS["projections.1.weight"]
    np.testing.assert_array_equal(y[:, 0], [PARAMS["tables.0.weight"][0], PARAMS["tables.0.weight"][1]])
    want = table[[2, 0]] @ projection.T
    assert np.all(np.abs(y[:, 1] - want) <= 4 * np.finfo(float).eps * (np.abs(table[[2, 0]]) @ np.abs(projection).T))


def test_tokens_of_other_clusters_move_nothing():
    _, pullback = adaptive_embedding(np.array([0, 1, 0]), PARAMS, cutoffs=(2,))
    (dparams,) = pullback(np.ones((3, 4)))
    np.testing.assert_array_equal(dparams["tables.0.weight"], [[2] * 4, [1] * 4])
    assert not np.any(dparams["tables.1.weight"])
    assert not np.any(dparams["projections.1.weight"])


def test_a_row_that_nobody_looks_up_may_hold_anything():
    """Tokens of other clusters are looked up as row 0, and left out."""
    spoiled = PARAMS | {"tables.1.weight": np.where(np.arange(3)[:, None] == 0, np.nan, PARAMS["tables.1.weight"])}
    y, _ = adaptive_embedding(np.array([0, 3, 4]), spoiled, cutoffs=(2,))
    assert np.all(np.isfinite(y))


def test_bounds():
    assert cluster_bounds((), 5) == [(0, 5)]
    assert cluster_bounds((2, 3), 5) == [(0, 2), (2, 3), (3, 5)]
    for cutoffs in ((0,), (5,), (3, 2), (2, 2)):
        with pytest.raises(ValueError, match="cutoffs must be rising, between 0 and n_token = 5"):
            cluster_bounds(cutoffs, 5)
    with pytest.raises(ValueError, match=r"cutoffs must be an integer, got 2\.0"):
        cluster_bounds((2.0,), 5)


@pytest.mark.parametrize(
    ("ids", "change", "cutoffs", "error", "message"),
    [
        (IDS + 1, {}, (2,), ValueError, r"ids must lie in \[0, 5\), got values from 1 to 5"),
        (IDS * 1.0, {}, (2,), TypeError, "ids must be an integer array, got dtype float64"),
        (IDS, {}, (3,), ValueError, r"tables\.0\.weight must have shape \(3, 4\), got \(2, 4\)"),
        (IDS, {}, (), ValueError, r"params must have the keys .*got .*tables\.1\.weight"),
        (IDS, {"tables.1.weight": np.ones((3, 3))}, (2,), ValueError,
         r"projections\.1\.weight must have shape \(4, 3\), got \(4, 2\)"),
        (IDS, {"projections.1.weight": np.ones((5, 2))}, (2,), ValueError,
         r"projections\.1\.weight must have shape \(4, 2\), got \(5, 2\)"),
        (IDS, {"tables.0.weight": np.ones((2, 4), np.float32)}, (2,), TypeError, "must have the dtype of"),
        (IDS, {"tables.0.bias": np.ones(2)}, (2,), ValueError, r"params must have the keys .*got .*tables\.0\.bias"),
    ],
)  # fmt: skip
def test_bad_input(ids, change, cutoffs, error, message):
    with pytest.raises(error, match=message):
        adaptive_embedding(ids, PARAMS | change, cutoffs=cutoffs)


def test_a_narrow_table_needs_its_projection():
    without = {key: x for key, x in PARAMS.items() if not key.startswith("projections")}
    with pytest.raises(ValueError, match=r"tables\.1\.weight must have shape \(3, 4\), got \(3, 2\)"):
        adaptive_embedding(IDS, without, cutoffs=(2,))
