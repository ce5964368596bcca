from compare.report.plots.studies import draw_studies


def report_with(*studies):
    return {"cases": [{"study": study} for study in studies] + [{}]}


def test_every_study_has_a_row_and_every_panel_its_curves(synthetic, drawn):
    figure = drawn(draw_studies, report_with(synthetic.study(), synthetic.study("Scale")))
    assert [axes.get_title() for axes in figure.axes] == ["Reach", "Reach", "Scale", "Scale"]
    assert [line.get_label() for line in figure.axes[2].lines] == ["rnn", "Scale"]
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "linear"] * 2


def test_what_has_no_place_on_a_logarithmic_axis_is_left_out(synthetic, drawn):
    on_log, on_linear = drawn(draw_studies, report_with(synthetic.study())).axes
    assert list(on_log.lines[1].get_ydata()) == [1.0, 0.9]
    assert list(on_linear.lines[1].get_ydata()) == [1.0, 0.9, 0.0]


def test_studies_of_fewer_panels_leave_the_rest_blank(synthetic, drawn):
    short = {**synthetic.study(), "panels": synthetic.study()["panels"][:1]}
    visible = [axes.get_visible() for axes in drawn(draw_studies, report_with(synthetic.study(), short)).axes]
    assert visible == [True, True, True, False]


def test_ticks_are_numbers_as_people_read_them(synthetic, drawn):
    figure = drawn(draw_studies, report_with(synthetic.study()))
    figure.canvas.draw()
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1", "2", "4"]
