"""Pages show the figures of a report, or of the committed summary."""

import json

import pytest
from readalong.measured import SNAPSHOT, find_summary
from readalong.summary import SCHEMA, summarise


def figure(sigma, tolerance):
    return {"sigma_max": sigma, "min_tolerance": tolerance}


def row(dtype, verdict, ours, theirs, **more):
    return {
        "case": "gelu",
        "config": {"name": "wide"},
        "dtype": dtype,
        "peer": "torch",
        "verdict": verdict,
        "outputs": {"reference": {"y": figure(*ours)}, "peer": {"y": figure(*theirs)}},
        "gradients": {"reference": {"x": figure(0.1, 1e-9)}, "peer": {}},
        "memory": None,
        "throughput": None,
        **more,
    }


def report(*rows):
    packages = {"numpy": "2.4.6", "torch": "2.13.0", "left-pad": "1.0"}
    environment = {"finished": "2026-11-30T01:02:03", "cpu": "a CPU", "cores": 2, "python": "3.11.7", "seed": 0}
    return {"schema": "refimpl-compare/1", "environment": {**environment, "packages": packages}, "cases": list(rows)}


def test_the_worst_of_all_rows_is_kept():
    summary = summarise(
        report(row("float32", "PASS", (1.0, 1e-7), (2.0, 3e-7)), row("float32", "FAIL", (0.5, 2e-7), ("inf", "inf")))
    )
    assert summary["cases"]["gelu"]["errors"] == [
        {
            "dtype": "float32",
            "peer": "torch",
            "judged": 2,
            "passed": 1,
            "reference_sigma": 1.0,
            "reference_tolerance": 2e-7,
            "peer_sigma": float("inf"),
            "peer_tolerance": float("inf"),
        }
    ]
    assert summary["environment"]["packages"] == {"numpy": "2.4.6", "torch": "2.13.0"}


def test_costs_are_kept_where_measured():
    measured = {"memory": {"ratio": 0.5}, "throughput": {"ratio": 1.234567, "verdict": "slower"}}
    cost = summarise(report(row("float32", "PASS", (1, 1), (1, 1), **measured)))["cases"]["gelu"]["costs"]
    assert [(c["memory_ratio"], c["time_ratio"], c["time_verdict"]) for c in cost] == [(0.5, 1.23, "slower")]


def test_a_peer_without_outputs_has_no_figures():
    only_gradients = row("float64", "PASS", (1.0, 1e-16), (1.0, 1e-16))
    only_gradients["outputs"]["peer"] = {}
    errors = summarise(report(only_gradients))["cases"]["gelu"]["errors"]
    assert errors[0]["peer_sigma"] is None


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "report.json", tmp_path / "measured.json"
    old = summarise(report(row("float32", "PASS", (5.0, 1e-7), (5.0, 1e-7))))
    paths[1].write_text(json.dumps(old))
    return paths


def test_a_report_comes_before_the_summary(files):
    path, snapshot = files
    assert find_summary("gelu", report=path, snapshot=snapshot)[1]["errors"][0]["reference_sigma"] == 5.0
    path.write_text(json.dumps(report(row("float32", "PASS", (1.0, 1e-7), (1.0, 1e-7)))))
    assert find_summary("gelu", report=path, snapshot=snapshot)[1]["errors"][0]["reference_sigma"] == 1.0


def test_a_report_of_other_cases_hides_nothing(files):
    path, snapshot = files
    path.write_text(json.dumps(report({**row("float32", "PASS", (1, 1), (1, 1)), "case": "relu"})))
    assert find_summary("gelu", report=path, snapshot=snapshot)[1]["errors"][0]["reference_sigma"] == 5.0
    assert find_summary("tanh", report=path, snapshot=snapshot) is None


def test_a_summary_of_another_version_is_refused(files):
    path, snapshot = files
    snapshot.write_text(json.dumps({"schema": "refimpl-measured/0", "cases": {}}))
    with pytest.raises(ValueError, match=SCHEMA):
        find_summary("gelu", report=path, snapshot=snapshot)


def test_the_committed_summary_is_of_this_version():
    assert json.loads(SNAPSHOT.read_text())["schema"] == SCHEMA
