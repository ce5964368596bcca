import math

import pytest

from compare.report.plots.canvas import LIGHT
from compare.report.plots.ratios import draw_memory, draw_time


@pytest.mark.parametrize("draw", [draw_memory, draw_time])
def test_ratios_that_are_not_finite_stay_on_the_axis(small, draw, drawn, points):
    rows = [row for row in small["cases"] if row["memory"]]
    for row, value in zip(rows, (math.inf, math.nan, 0.0, 1e9), strict=True):
        row["memory"]["ratio"] = value
        row["throughput"].update(ratio=value, ratio_low=value, ratio_high=value)
    (axes,) = drawn(draw, small).axes
    low, high = axes.get_xlim()
    marks = points(axes, "os")
    assert len(marks) == 4
    assert all(low <= x <= high for x, _ in marks)
    assert low < 1.0 < high


def test_configurations_of_one_case_have_rows_of_their_own(synthetic, drawn):
    rows = [synthetic.row(config=name, measured=True) for name in ("short", "long")]
    (axes,) = drawn(draw_time, {"cases": rows}).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "layer_norm · short",
        "layer_norm · long",
    ]


def test_a_claim_is_a_full_point_and_no_claim_a_hollow_one(synthetic, drawn):
    row = synthetic.row(measured=True)
    faces = []
    for word in ("slower", "inconclusive"):
        row["throughput"]["verdict"] = word
        (axes,) = drawn(draw_time, {"cases": [row]}).axes
        faces += [
            line.get_markerfacecolor()
            for line in axes.lines
            if line.get_marker() == "s" and len(line.get_xdata())
        ]
    assert faces == [LIGHT.second, "none"]
