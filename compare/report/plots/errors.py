"""Error by component: how many sigma each case is off, one panel a dtype."""

import math

from compare.report.plots.canvas import new_figure, nothing_measured, sort_dtypes
from compare.report.summary import lines, worst
from compare.report.words import printable
from compare.verdict.spread_rule import LIMIT

FLOOR, CEILING = 0.02, 1e6  # sigma; what lies outside stands on the edge
STYLES = {"reference": "o", "peer": "D"}


def draw_errors(report, palette):
    """Draw the largest error of reference and peer, per case and dtype.

    Parameters
    ----------
    report : dict
        A decoded report.
    palette : Palette
        Colours.

    Returns
    -------
    Figure
        Errors on a logarithmic axis, in sigma; infinite and NaN ones on its right edge, zero on its left.
    """
    found = lines(report)
    dtypes = sort_dtypes(line.dtype for line in found)
    if not found:
        return nothing_measured("This report compares nothing.", palette)
    rows = _rows(found)
    figure, panels = new_figure(0.21 * len(rows) + 1.3, len(dtypes), palette, sharey=True)
    top = _right_edge(found)
    for axes, dtype in zip(panels, dtypes, strict=True):
        _frame(axes, dtype, top, palette)
        placed = [(rows.index((line.section, line.case)), line) for line in found if line.dtype == dtype]
        for side in STYLES:
            _points(axes, placed, side, top, palette)
        _label_verdicts(axes, placed, palette)
    _label_rows(panels[0], rows, found, palette)
    handles = [_marker(panels[0], [], [], side, palette) for side in STYLES]
    figure.legend(
        handles, list(STYLES), loc="outside upper right", ncols=2, frameon=False, labelcolor=palette.ink
    )
    figure.supxlabel("largest error, σ (logarithmic)", color=palette.muted, fontsize=9)
    return figure


def _rows(found):
    """List section headings (without a case) and cases, in the order they are drawn."""
    rows = []
    for section in dict.fromkeys(line.section for line in found):
        rows.append((section, None))
        rows += dict.fromkeys((section, line.case) for line in found if line.section == section)
    return rows


def _right_edge(found):
    sizes = [_of_side(line, side) for line in found for side in STYLES]
    largest = max([1.0, *(size for size in sizes if size is not None and math.isfinite(size))])
    # Half a decade to spare keeps "inf" on the edge apart from the largest finite error.
    return min(CEILING, max(100.0, 10.0 ** math.ceil(math.log10(largest) + 0.5)))


def _of_side(line, side):
    index = list(STYLES).index(side)
    return worst([line.outputs[index], line.gradients[index]])


def _frame(axes, dtype, top, palette):
    axes.set_title(printable(dtype), color=palette.ink, fontsize=10, fontweight="bold")
    axes.set_xscale("log")
    axes.set_xlim(FLOOR / 1.5, top * 1.5)
    last = round(math.log10(top))
    ticks = [10.0**power for power in range(-1, last + 1, 1 if last < 4 else 2)]
    axes.set_xticks([FLOOR, *ticks], ["≈0", *map(_power, ticks)])
    axes.minorticks_off()
    axes.axvline(LIMIT, color=palette.limit, linestyle=(0, (4, 3)), linewidth=1.2)
    axes.annotate(
        f"{LIMIT:g} σ",
        (LIMIT, 1.0),
        (3, -7),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        color=palette.limit,
        fontsize=8,
    )
    axes.axvspan(LIMIT, top * 1.5, color=palette.limit, alpha=0.07, linewidth=0)


def _power(value):
    if value <= 1000:
        return f"{value:g}"
    return "10" + str(round(math.log10(value))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _points(axes, placed, side, top, palette):
    sizes = [(_of_side(line, side), position) for position, line in placed]
    sizes = [(size, position) for size, position in sizes if size is not None]
    at = [min(max(size, FLOOR), top) if math.isfinite(size) else top for size, _ in sizes]
    # One artist for all points: hundreds of them would be most of the time and most of the markup.
    _marker(axes, at, [position for _, position in sizes], side, palette)
    for size, position in sizes:
        if not math.isfinite(size):
            axes.annotate(
                f"{size}",
                (top, position),
                (-6, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                color=palette.limit,
                fontsize=8,
            )


def _label_verdicts(axes, placed, palette):
    for position, line in placed:
        if line.verdict != "PASS":
            axes.text(
                1.01,
                position,
                line.verdict,
                transform=axes.get_yaxis_transform(),
                color=palette.limit,
                fontsize=7.5,
                fontweight="bold",
                va="center",
            )


def _marker(axes, x, y, side, palette):
    colour = getattr(palette, side)
    face = colour if side == "reference" else "none"
    (drawn,) = axes.plot(
        x, y, STYLES[side], color=colour, markerfacecolor=face, markersize=5, markeredgewidth=1.2, linestyle="none"
    )
    return drawn


def _label_rows(axes, rows, found, palette):
    axes.set_yticks(range(len(rows)), [printable(case or section) for section, case in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    failed = {(line.section, line.case) for line in found if line.verdict != "PASS"}
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row[1] is None:
            label.set(fontweight="bold", color=palette.muted)
        elif row in failed:
            label.set(fontweight="bold", color=palette.limit)
