import math

from compare.report import summary


def test_worst_prefers_nan_over_infinity_wherever_it_stands():
    for values in ([math.nan, math.inf, 1.0], [1.0, math.inf, math.nan], [math.inf, math.nan, 1.0]):
        assert math.isnan(summary.worst(values))
    assert summary.worst([None, 1.0, math.inf]) == math.inf
    assert summary.worst([None]) is None
    assert summary.worst([]) is None


def test_verdicts_order_from_harmless_to_grave():
    assert summary.gravest(["PASS", "INCONCLUSIVE", "WAIVED"]) == "INCONCLUSIVE"
    assert summary.gravest(["FAIL", "CRASH", "PASS"]) == "CRASH"


def test_a_line_is_the_worst_of_its_configurations_and_peers(synthetic):
    rows = [
        synthetic.row(config=name, measured=True, peer=peer)
        for name in "ab"
        for peer in ("torch", "autograd")
    ]
    rows[1]["outputs"]["peer"]["y"]["sigma_max"] = 7.5
    rows[2]["gradients"]["reference"]["x"]["sigma_max"] = 9.5
    rows[3]["gradients"]["reference"]["x"]["min_tolerance"] = 0.25
    rows[3]["memory"]["ratio"] = 1e6
    rows[0]["throughput"].update(ratio=1e4, verdict="inconclusive")
    rows[2]["verdict"] = "WAIVED"
    (line,) = summary.lines({"cases": rows})
    assert (line.verdict, line.outputs[1], line.gradients[0]) == ("WAIVED", 7.5, 9.5)
    assert (line.min_tolerance, line.memory_ratio) == (0.25, 1e6)
    assert (line.time_ratio, line.time_word) == (1e4, "inconclusive")


def test_dtypes_cases_and_backends_have_lines_of_their_own(synthetic):
    rows = [synthetic.row(dtype="float32"), synthetic.row(dtype="float64"), synthetic.row(case="softmax")]
    rows.append({**synthetic.row(dtype="float32"), "backend": "cupy"})
    assert len(summary.lines({"cases": rows})) == 4


def test_a_row_without_figures_has_no_worst_element(synthetic):
    row = synthetic.row()
    synthetic.spoil(row, "CRASH", "gone")
    assert summary.worst_element(row) is None
    (line,) = summary.lines({"cases": [row]})
    assert (line.outputs, line.min_tolerance, line.time_word) == ((None, None), None, "")


def test_the_worst_element_is_one_that_did_not_pass(synthetic):
    row = synthetic.row()
    row["outputs"]["peer"]["y"]["sigma_max"] = 1e9
    row["gradients"]["reference"]["x"].update(passed=False, sigma_max=11.0)
    row["gradients"]["peer"]["x"].update(passed=False, sigma_max=math.nan)
    assert summary.worst_element(row)[:3] == ("peer", "gradients", "x")


def test_counts_and_what_needs_attention(mixed):
    assert summary.counts(mixed) == {
        "PASS": 272,
        "WAIVED": 1,
        "INCONCLUSIVE": 1,
        "FAIL": 3,
        "ERROR": 1,
        "TIMEOUT": 1,
        "CRASH": 1,
    }
    assert [row["verdict"] for row in summary.not_passed(mixed)][:3] == ["CRASH", "TIMEOUT", "ERROR"]
