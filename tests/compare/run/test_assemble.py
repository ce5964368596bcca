from types import SimpleNamespace

import pytest

from compare.measure.roof import Roof
from compare.run.assemble import above_roof, make_rows
from compare.run.environment import overhead
from compare.run.plan import Request, Unit

CASE = SimpleNamespace(name="alpha", section="layers", title="Alpha", libraries=("torch",))
CONFIG = SimpleNamespace(name="wide", sizes={"n": 3}, settings={})
ROOF = Roof({"float32": 1e9}, 1e9, 1e9)
TIMES = {"median_s": 1.0, "q25_s": 0.9, "q75_s": 1.1}
TIMING = {
    "reference": TIMES, "peer": TIMES, "ratio": 1.0, "ratio_low": 0.9, "ratio_high": 1.1, "verdict": "inconclusive",
    "pairs": 9, "processes": 2, "threads": 2, "measured_s": 3.0, "total_s": 4.0,
    "behaviour": {"reference": "unchanged", "peer": "unchanged"},
}  # fmt: skip
PEAK = {"peak_bytes": 100, "instrument": "scales", "blind_spots": "none", "seconds": 0.5}


def done(value):
    return {"status": "done", "value": value, "message": "", "seconds": 0.7}


def failed(status):
    return {"status": status, "value": None, "message": "because", "seconds": 2.0}


def judged():
    row = {"case": "alpha", "config": {"name": "wide"}, "dtype": "float32", "peer": "torch", "verdict": "PASS"}
    return done([row | {"reason": "", "memory": None, "throughput": None, "seconds": {"total": 0.2, "measured": 0.1}}])


def row_of(roof=ROOF, **entries):
    """The one row that these results give; an entry may be left out."""
    units = {
        "judge": Unit("judge", "alpha", "wide", "float32", ("torch",)),
        "cost": Unit("cost", "alpha", "wide", "float32"),
        "memory": Unit("memory", "alpha", "wide", "float32", ("torch",)),
        "throughput": Unit("throughput", "alpha", "wide", "float32", ("torch",)),
    }
    found = {units[kind]: entry for kind, entry in entries.items()}
    (row,) = make_rows([(CASE, CONFIG, "float32", ("torch",))], found, Request(), roof)
    return row


def test_measurements_join_their_row():
    cost = done({"flops": 5e8, "bytes": 10, "peak_bytes": 80})
    memory = done({"reference": PEAK, "torch": PEAK | {"peak_bytes": 50}})
    row = row_of(judge=judged(), cost=cost, memory=memory, throughput=done(TIMING))
    assert row["verdict"] == "PASS"
    assert row["memory"]["ratio"] == 2.0 and row["memory"]["analytic_bytes"] == 80
    assert row["throughput"]["share_of_roof"] == 0.5
    assert row["seconds"] == {"total": 0.2 + 1.0 + 4.0, "measured": 0.1 + 1.0 + 3.0}  # added in this order


@pytest.mark.parametrize(("status", "verdict"), [("raised", "ERROR"), ("crashed", "CRASH"), ("hung", "TIMEOUT")])
@pytest.mark.parametrize("kind", ["judge", "memory", "throughput"])
def test_a_failure_is_the_verdict_of_the_row(kind, status, verdict):
    row = row_of(**{"judge": judged(), kind: failed(status)})
    assert row["verdict"] == verdict and "because" in row["reason"]


def test_what_is_faster_than_the_machine_fails():
    row = row_of(judge=judged(), cost=done({"flops": 1e10, "bytes": 10, "peak_bytes": 80}), throughput=done(TIMING))
    assert row["verdict"] == "FAIL" and "something was not computed" in row["reason"]
    assert above_roof([row])
    honest = row_of(judge=judged(), cost=done({"flops": 1e8, "bytes": 10, "peak_bytes": 80}), throughput=done(TIMING))
    assert not above_roof([honest])


@pytest.mark.parametrize("behaviour", ["changed", "input ignored"])
@pytest.mark.parametrize("side", ["reference", "peer"])
def test_other_results_while_timed_fail(side, behaviour):
    timing = TIMING | {"behaviour": TIMING["behaviour"] | {side: behaviour}}
    row = row_of(judge=judged(), throughput=done(timing))
    assert row["verdict"] == "FAIL" and row["reason"].startswith(side)


def test_what_never_repeats_its_bits_cannot_be_called_wrong():
    timing = TIMING | {"behaviour": {"reference": "unchanged", "peer": "not repeatable"}}
    assert row_of(judge=judged(), throughput=done(timing))["verdict"] == "PASS"


def test_costs_that_cannot_be_counted_are_left_out():
    row = row_of(judge=judged(), cost=failed("raised"), throughput=done(TIMING))
    assert row["throughput"]["flops"] is None and row["throughput"]["share_of_roof"] is None


def test_a_row_without_judgement_has_its_measurements():
    row = row_of(memory=done({"reference": PEAK, "torch": PEAK | {"peak_bytes": 0}}))
    assert row["verdict"] == "PASS" and row["memory"]["ratio"] is None and row["outputs"]["peer"] == {}


def test_the_overhead_is_what_is_not_measured_code():
    entries = {
        Unit("judge", "a"): done([{"seconds": {"measured": 4.0}}, {"seconds": {"measured": 2.0}}]),
        Unit("memory", "a"): done({"reference": {"seconds": 1.0}, "torch": {"seconds": 1.0}}),
        Unit("cost", "a"): done({"flops": 1}),
        Unit("judge", "b"): failed("hung"),
        Unit("throughput", "a"): done({"measured_s": 3.0}),
        Unit("roof"): done({"seconds": 1.0}),
    }
    # Two at a time: (6 + 2 + 2) / 2; then 3 and 1 alone.
    expected = {"wall": 12.0, "measured": 9.0, "overhead": 3.0, "overhead_share": 0.25}
    assert overhead(entries, 2, 12.0) == expected
