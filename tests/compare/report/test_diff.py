import copy
import math

import pytest

from compare.report.diff import diff, render


def find(report, case, dtype="float32", config="rank3", peer="torch"):
    wanted = (case, dtype, config, peer)
    (row,) = [r for r in report["cases"] if (r["case"], r["dtype"], r["config"]["name"], r["peer"]) == wanted]
    return row


def test_identical_reports_are_silent(mixed):
    changes = diff(mixed, copy.deepcopy(mixed))
    assert changes == []
    assert render(changes) == "no change\n"


def test_a_planted_regression_is_found(small):
    new = copy.deepcopy(small)
    row = find(new, "softmax")
    row["verdict"] = "FAIL"
    row["gradients"]["reference"]["x"]["sigma_max"] = 8500.0
    changes = diff(small, new)
    assert [(c.kind, c.what, c.worse) for c in changes] == [
        ("verdict", "verdict", True),
        ("error", "x, gradients of reference", True),
    ]
    assert changes[0].row == ("softmax", "rank3", "float32", "numpy", "torch")
    text = render(changes)
    assert "VERDICT  verdict                    PASS → FAIL" in text
    assert "→ 8500 σ" in text
    assert "changes: 2, in rows: 1, for the worse: 2" in text


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        *((0.1, 0.9, False), (2.0, 3.9, False), (2.0, 4.1, True), (0.1, 1.1, True)),
        *((0.0, 1.5, True), (4.0, 1.0, False)),
        *(
            (2.0, math.inf, True),
            (math.inf, math.inf, False),
            (math.inf, math.nan, True),
            (math.nan, 1.0, False),
        ),
        *((2.0, None, True), (None, None, False)),
    ],
)
def test_an_error_counts_when_it_more_than_doubled_to_above_one_sigma(small, old, new, found):
    other = copy.deepcopy(small)
    find(small, "softmax")["outputs"]["reference"]["y"]["sigma_max"] = old
    find(other, "softmax")["outputs"]["reference"]["y"]["sigma_max"] = new
    assert [change.kind for change in diff(small, other)] == ["error"] * found


@pytest.mark.parametrize(
    ("low", "high", "kinds"), [(1.9, 2.3, []), (2.2, 2.4, [True]), (1.0, 1.5, [False]), (1.5, 1.85, [])]
)
def test_a_time_counts_when_its_interval_left_the_old_one(small, low, high, kinds):
    other = copy.deepcopy(small)
    find(small, "softmax", config="large")["throughput"].update(ratio=1.9, ratio_low=1.8, ratio_high=2.1)
    find(other, "softmax", config="large")["throughput"].update(
        ratio=(low + high) / 2, ratio_low=low, ratio_high=high
    )
    assert [(c.kind, c.worse) for c in diff(small, other)] == [("time", worse) for worse in kinds]


@pytest.mark.parametrize(("factor", "kinds"), [(1.02, []), (0.98, []), (1.1, [True]), (0.5, [False])])
def test_a_memory_ratio_counts_beyond_three_per_cent(small, factor, kinds):
    other = copy.deepcopy(small)
    find(other, "softmax", config="large")["memory"]["ratio"] *= factor
    assert [(c.kind, c.worse) for c in diff(small, other)] == [("memory", worse) for worse in kinds]


def test_rows_and_tensors_that_come_and_go(small):
    new = copy.deepcopy(small)
    new["cases"].remove(find(new, "softmax"))
    del find(new, "layer_norm")["gradients"]["peer"]["x"]
    new["cases"].append({**find(small, "layer_norm"), "backend": "cupy"})
    kinds = sorted((c.kind, c.old, c.new, c.worse) for c in diff(small, new))
    assert kinds == [
        ("added", None, "PASS", False),
        ("removed", "PASS", None, True),
        ("tensor", "present", None, True),
    ]


def test_a_row_that_ended_early_is_one_change(small, synthetic):
    new = copy.deepcopy(small)
    synthetic.spoil(find(new, "softmax"), "CRASH", "gone")
    assert [(c.kind, c.new) for c in diff(small, new)] == [("verdict", "CRASH")]


def test_what_got_better_is_told_last_and_not_as_worse(small):
    new = copy.deepcopy(small)
    find(small, "layer_norm")["verdict"] = "FAIL"
    find(new, "softmax")["verdict"] = "INCONCLUSIVE"
    assert [(c.old, c.new, c.worse) for c in diff(small, new)] == [
        ("PASS", "INCONCLUSIVE", True),
        ("FAIL", "PASS", False),
    ]
