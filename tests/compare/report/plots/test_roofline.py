import pytest

from compare.report.plots.roofline import draw_roofline

SIDES = ("reference", "peer")


def test_the_roof_bends_where_bandwidth_meets_the_matrix_product(synthetic, drawn, points):
    report = {"environment": synthetic.environment(), "cases": [synthetic.row(measured=True)]}
    axes = drawn(draw_roofline, report).axes[0]
    (roof,) = [line for line in axes.lines if len(line.get_xdata()) == 3]
    x, y = roof.get_xdata(), roof.get_ydata()
    assert (x[1], y[1]) == (1.1e11 / 2e10, 1.1e11)
    # Exactly bandwidth times intensity: the plot multiplies the same two numbers.
    assert y[0] == 2e10 * x[0]
    timing = report["cases"][0]["throughput"]
    wanted = [
        (timing["flops"] / timing["bytes"], timing["flops"] / timing[side]["median_s"]) for side in SIDES
    ]
    assert points(axes, "oD") == wanted


@pytest.mark.parametrize("roof", [None, {"matmul_flops_per_s": {}, "bandwidth_bytes_per_s": None}])
def test_a_machine_without_a_measured_roof_still_shows_its_points(synthetic, roof, drawn):
    environment = {**synthetic.environment(), "roof": roof}
    axes = drawn(draw_roofline, {"environment": environment, "cases": [synthetic.row(measured=True)]}).axes[0]
    assert "no roof was measured" in [text.get_text() for text in axes.texts]


def test_rows_without_operation_counts_are_left_out(synthetic, drawn):
    rows = [synthetic.row(config=name, measured=True) for name in "abc"]
    rows[0]["throughput"]["flops"] = None
    rows[1]["throughput"]["bytes"] = 0
    figure = drawn(draw_roofline, {"environment": synthetic.environment(), "cases": rows})
    assert [text.get_text() for text in figure.axes[-1].texts] == ["1  layer_norm"]
