"""Roofline (Williams, Waterman, Patterson 2009): what was computed per second, and what could have been."""

import math
from dataclasses import dataclass

from compare.report.plots.canvas import WIDTH, label_rows, new_figure, nothing_measured, sort_dtypes
from compare.report.words import printable, scaled

MARKERS = {"reference": "o", "peer": "D"}
HEIGHT = 5.0  # inches of a panel, at least
LISTED = 0.155  # inches of a line in the list of names


@dataclass(frozen=True)
class Point:
    """One measured row.

    Attributes
    ----------
    name, dtype : str
        What was measured.
    intensity : float
        FLOP per byte.
    rates : dict
        FLOP per second by side.
    """

    name: str
    dtype: str
    intensity: float
    rates: dict


def draw_roofline(report, palette):
    """Draw FLOP/s over FLOP/byte, one panel a dtype.

    Parameters
    ----------
    report : dict
        A decoded report.
    palette : Palette
        Colours.

    Returns
    -------
    Figure
        Points of reference and peer, numbered as in the list beside them, and the roofs of the environment.
    """
    rows = [row for row in report["cases"] if _counted(row["throughput"])]
    points = [_point(name, row) for name, row in zip(label_rows(rows), rows, strict=True)]
    if not points:
        return nothing_measured("No row of this report has both time and operation counts.", palette)
    names = list(dict.fromkeys(point.name for point in points))
    dtypes = sort_dtypes(point.dtype for point in points)
    columns = 1 if len(names) <= 30 else 2
    height = max(HEIGHT, LISTED * math.ceil(len(names) / columns) + 0.8)
    ratios = [3.0] * len(dtypes) + [0.75 * len(dtypes) * columns]
    figure, panels = new_figure(height, len(dtypes) + 1, palette, width_ratios=ratios)
    roof = report["environment"]["roof"] or {"matmul_flops_per_s": {}, "bandwidth_bytes_per_s": None}
    limits = _limits(points, roof)
    for axes, dtype in zip(panels, dtypes, strict=False):
        _frame(axes, dtype, limits, palette)
        _roof(axes, roof["matmul_flops_per_s"].get(dtype), roof["bandwidth_bytes_per_s"], limits, palette)
        _points(axes, [point for point in points if point.dtype == dtype], names, limits, palette)
    for axes in panels[1:-1]:
        axes.tick_params(labelleft=False)
    panels[0].set_ylabel("rate (FLOP/s)", color=palette.muted)
    _list_names(panels[-1], names, columns, palette)
    handles = [_marker(panels[0], [], [], side, palette) for side in MARKERS]
    figure.legend(
        handles, list(MARKERS), loc="outside upper left", ncols=2, frameon=False, labelcolor=palette.ink
    )
    return figure


def _counted(timing):
    return (
        timing
        and timing["flops"]
        and timing["bytes"]
        and all(timing[side]["median_s"] > 0 for side in MARKERS)
    )


def _point(name, row):
    timing = row["throughput"]
    rates = {side: timing["flops"] / timing[side]["median_s"] for side in MARKERS}
    return Point(name, row["dtype"], timing["flops"] / timing["bytes"], rates)


def _limits(points, roof):
    peaks = list(roof["matmul_flops_per_s"].values())
    rates = [rate for point in points for rate in point.rates.values()]
    intensities = [point.intensity for point in points]
    if roof["bandwidth_bytes_per_s"]:
        # The bend of the roof belongs into the picture even where all points are on one side of it.
        intensities += [peak / roof["bandwidth_bytes_per_s"] for peak in peaks]
    return (min(intensities) / 2, max(intensities) * 3), (min(rates) / 3, max([*rates, *peaks]) * 3)


def _frame(axes, dtype, limits, palette):
    axes.set_title(printable(dtype), color=palette.ink, fontsize=10, fontweight="bold")
    axes.set(xscale="log", yscale="log", xlim=limits[0], ylim=limits[1])
    x_ticks, y_ticks = (_decades(*limit) for limit in limits)
    axes.set_xticks(x_ticks, [f"{tick:g}" for tick in x_ticks])
    axes.set_yticks(y_ticks, [scaled(tick, "").strip() for tick in y_ticks])
    axes.minorticks_off()
    axes.set_xlabel("intensity (FLOP/byte)", color=palette.muted)


def _decades(low, high):
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _roof(axes, peak, bandwidth, limits, palette):
    left, right = limits[0]
    if not bandwidth or not peak:
        axes.text(
            0.03,
            0.97,
            "no roof was measured",
            transform=axes.transAxes,
            va="top",
            color=palette.muted,
            fontsize=8,
        )
        return
    bend = min(max(peak / bandwidth, left), right)
    corners = [left, bend, right]
    axes.plot(corners, [min(peak, bandwidth * x) for x in corners], color=palette.ink, linewidth=1.6)
    axes.text(right, peak * 1.12, f"{scaled(peak, 'FLOP/s')} ", ha="right", color=palette.muted, fontsize=8)
    axes.text(
        0.03,
        0.97,
        f"slope: {scaled(bandwidth, 'B/s')}",
        transform=axes.transAxes,
        va="top",
        color=palette.muted,
        fontsize=8,
    )


def _points(axes, points, names, limits, palette):
    inches = axes.figure.get_size_inches()
    size = (
        72 * 0.7 * WIDTH / (len(axes.figure.axes) - 1),
        72 * (inches[1] - 1.2),
    )  # of the panel, about, in points
    taken = []
    for point in sorted(points, key=lambda point: point.intensity):
        x = point.intensity
        rates = list(point.rates.values())
        axes.plot([x] * len(rates), rates, color=palette.muted, linewidth=0.6, alpha=0.7)
        for side, rate in point.rates.items():
            _marker(axes, [x], [rate], side, palette)
        offset = _free_place((x, max(rates)), limits, size, taken)
        axes.annotate(
            str(names.index(point.name) + 1),
            (x, max(rates)),
            (0, offset),
            textcoords="offset points",
            ha="center",
            fontsize=7,
            color=palette.ink,
        )


def _free_place(at, limits, size, taken):
    """Return how many points above `at` a number finds room, keeping clear of those already placed."""
    spans = zip(at, limits, size, strict=True)
    right, up = (math.log(v / low) / math.log(high / low) * length for v, (low, high), length in spans)
    up += 4.0
    start = up
    while any(abs(right - a) < 11 and abs(up - b) < 8 for a, b in taken):
        up += 2.0
    taken.append((right, up))
    return up - start + 4.0


def _marker(axes, x, y, side, palette):
    colour = getattr(palette, side)
    face = colour if side == "reference" else "none"
    (drawn,) = axes.plot(
        x, y, MARKERS[side], color=colour, markerfacecolor=face, markersize=4.5, markeredgewidth=1.1
    )
    return drawn


def _list_names(axes, names, columns, palette):
    axes.axis("off")
    depth = math.ceil(len(names) / columns)
    for index, name in enumerate(names):
        column, line = divmod(index, depth)
        short = name if len(name) <= 28 else f"{name[:21]}…{name[-6:]}"
        axes.text(
            column / columns,
            1.0 - (line + 0.5) / max(depth, 24),
            f"{index + 1}  {short}",
            transform=axes.transAxes,
            fontsize=7,
            va="center",
            color=palette.ink,
        )
