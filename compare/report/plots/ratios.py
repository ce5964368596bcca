"""Memory and time of the reference over those of its peer."""

import math
from dataclasses import dataclass

from matplotlib.collections import LineCollection

from compare.report.plots.canvas import dtype_style, label_rows, new_figure, nothing_measured, sort_dtypes
from compare.report.words import number, printable

CLAIMS = ("faster", "slower")
SPREAD = 0.5  # of a row's height, over which its dtypes are set apart


@dataclass(frozen=True)
class Point:
    """One measured ratio.

    Attributes
    ----------
    name, dtype : str
        What was measured.
    ratio, low, high : float
        The ratio and the ends of its interval.
    claim : bool
        Whether it is claimed to differ from 1.
    """

    name: str
    dtype: str
    ratio: float
    low: float
    high: float
    claim: bool


def draw_memory(report, palette):
    """Draw peak bytes of the reference over those of its peer.

    Parameters
    ----------
    report : dict
        A decoded report.
    palette : Palette
        Colours.

    Returns
    -------
    Figure
        A point for each measured row, by case.
    """
    rows = [row for row in report["cases"] if row["memory"] and row["memory"]["ratio"] is not None]
    points = [
        Point(name, row["dtype"], *[row["memory"]["ratio"]] * 3, claim=True)
        for name, row in zip(label_rows(rows), rows, strict=True)
    ]
    return _draw(
        points,
        "peak memory, reference / peer (logarithmic)",
        "No row of this report measured memory.",
        palette,
    )


def draw_time(report, palette):
    """Draw times of the reference over those of its peer.

    Parameters
    ----------
    report : dict
        A decoded report.
    palette : Palette
        Colours.

    Returns
    -------
    Figure
        A point with its interval for each measured row, by case.
    """
    rows = [row for row in report["cases"] if row["throughput"]]
    points = [
        Point(
            name,
            row["dtype"],
            timing["ratio"],
            timing["ratio_low"],
            timing["ratio_high"],
            timing["verdict"] in CLAIMS,
        )
        for name, row in zip(label_rows(rows), rows, strict=True)
        if (timing := row["throughput"])
    ]
    return _draw(
        points, "time, reference / peer (logarithmic)", "No row of this report measured time.", palette
    )


def _draw(points, label, missing, palette):
    if not points:
        return nothing_measured(missing, palette)
    names = list(dict.fromkeys(point.name for point in points))
    dtypes = sort_dtypes(point.dtype for point in points)
    figure, (axes,) = new_figure(0.24 * len(names) + 1.3, 1, palette)
    low, high = _limits(points)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.axvline(1.0, color=palette.ink, linewidth=1.2)
    rows = {name: index for index, name in enumerate(names)}
    for index, dtype in enumerate(dtypes):
        shift = SPREAD * ((index + 0.5) / len(dtypes) - 0.5)
        placed = [(rows[point.name] + shift, point) for point in points if point.dtype == dtype]
        _points(axes, placed, dtype, (low, high), palette)
    ticks = _ticks(low, high)
    axes.set_xticks(ticks, [f"{number(tick)}×" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(f"← reference needs less  ·  {label}  ·  reference needs more →", color=palette.muted)
    handles = [_legend_entry(axes, dtype, palette) for dtype in dtypes]
    figure.legend(
        handles,
        [printable(dtype) for dtype in dtypes],
        loc="outside upper right",
        ncols=len(dtypes),
        frameon=False,
        labelcolor=palette.ink,
    )
    return figure


def _limits(points):
    usable = [end for point in points for end in (point.low, point.high) if end and math.isfinite(end)]
    # At least a factor two to both sides, so that a few per cent do not look like a landslide.
    return min([0.5, *usable]) / 1.15, max([2.0, *usable]) * 1.15


def _ticks(low, high):
    base = 2 if high / low < 2**9 else 10
    first, last = math.ceil(math.log(low, base)), math.floor(math.log(high, base))
    return [float(base) ** power for power in range(first, last + 1)]


def _points(axes, placed, dtype, limits, palette):
    # One artist for the intervals and one for each kind of point, however many there are.
    colour, marker = dtype_style(dtype, palette)
    ends = [(y, _clamp(point.low, *limits), _clamp(point.high, *limits)) for y, point in placed]
    intervals = [[(low, y), (high, y)] for y, low, high in ends if low < high]
    axes.add_collection(LineCollection(intervals, colors=colour, linewidths=1.4), autolim=False)
    for claim, face in ((True, colour), (False, "none")):
        kept = [(_clamp(point.ratio, *limits), y) for y, point in placed if point.claim == claim]
        if kept:
            axes.plot(
                *zip(*kept, strict=True), marker,
                color=colour, markerfacecolor=face, markersize=5, markeredgewidth=1.2, linestyle="none",
            )  # fmt: skip


def _clamp(value, low, high):
    # What has no place on the axis (0, inf, NaN) stands on its edge.
    return high if math.isnan(value) else min(max(value, low), high)


def _legend_entry(axes, dtype, palette):
    colour, marker = dtype_style(dtype, palette)
    (drawn,) = axes.plot([], [], marker, color=colour, markersize=5)
    return drawn
