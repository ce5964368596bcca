"""Studies: curves that a case measures beside its comparison."""

import math

from compare.report.plots.canvas import new_figure, nothing_measured
from compare.report.words import number, printable

HEIGHT = 2.9  # inches a study
MARKERS = "osD^"
MOST_MARKED = 12  # points; longer curves are lines alone


def draw_studies(report, palette):
    """Draw the panels of every study, one row a study.

    Parameters
    ----------
    report : dict
        A decoded report.
    palette : Palette
        Colours.

    Returns
    -------
    Figure
        Curves with a name each.
    """
    studies = [row["study"] for row in report["cases"] if row.get("study")]
    studies = [study for study in studies if study["panels"]]
    if not studies:
        return nothing_measured("No case of this report has a study.", palette)
    columns = max(len(study["panels"]) for study in studies)
    figure, axes = new_figure(HEIGHT * len(studies), columns, palette, rows=len(studies))
    for i, study in enumerate(studies):
        row = axes[i * columns : (i + 1) * columns]
        for panel_axes, panel in zip(row, study["panels"], strict=False):
            _draw(panel_axes, panel, palette)
        for unused in row[len(study["panels"]) :]:
            unused.set_visible(False)
    return figure


def _draw(axes, panel, palette):
    colours = (palette.first, palette.second, palette.third, palette.fourth)
    for i, (name, values) in enumerate(panel["lines"].items()):
        points = [(x, y) for x, y in zip(panel["x"], values, strict=False) if _fits(panel, x, y)]
        marker = MARKERS[i % len(MARKERS)]
        every = math.ceil(len(points) / MOST_MARKED) or 1
        axes.plot(
            *zip(*points, strict=True) if points else ((), ()),
            color=colours[i % len(colours)], marker=marker, markersize=4, markevery=every, linewidth=1.3,
            label=printable(name),
        )  # fmt: skip
    axes.set(xscale=panel["x_scale"], yscale=panel["y_scale"])
    if panel["x_scale"] == "log":
        axes.set_xticks(panel["x"])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: number(value))
    axes.minorticks_off()
    axes.set_title(printable(panel["title"]), color=palette.ink, fontsize=10)
    axes.set_xlabel(printable(panel["x_label"]), color=palette.muted)
    axes.set_ylabel(printable(panel["y_label"]), color=palette.muted)
    axes.legend(frameon=False, labelcolor=palette.ink, fontsize=8)


def _fits(panel, x, y):
    # A logarithmic axis has no place for zero.
    return (x > 0 or panel["x_scale"] == "linear") and (y > 0 or panel["y_scale"] == "linear")
