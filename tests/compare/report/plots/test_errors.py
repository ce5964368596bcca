from compare.report.plots.errors import draw_errors


def test_the_ten_sigma_line_and_every_error_are_in_the_picture(mixed, drawn, points):
    figure = drawn(draw_errors, mixed)
    assert [axes.get_title() for axes in figure.axes] == ["float64", "float32", "bfloat16"]
    for axes in figure.axes:
        assert 10.0 in [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
        low, high = axes.get_xlim()
        assert all(low < x < high for x, _ in points(axes, "oD"))
    shown = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"inf", "nan", "FAIL", "CRASH", "ERROR", "TIMEOUT", "INCONCLUSIVE", "WAIVED", "10 σ"} == shown


def test_a_failure_lies_beyond_the_line_and_a_pass_before_it(mixed, drawn, points):
    for axes in drawn(draw_errors, mixed).axes:
        beyond = sum(x > 10.0 for x, _ in points(axes, "oD"))
        assert beyond == {"float64": 0, "float32": 2, "bfloat16": 1}[axes.get_title()]
