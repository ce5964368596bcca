"""Costs by length, as a picture."""

from functools import partial

from matplotlib import colormaps
from matplotlib.ticker import FuncFormatter, LogLocator

from compare.costs.published import PUBLISHED
from compare.report.plots.canvas import LIGHT, new_figure, settings
from compare.report.words import scaled

PANELS = (
    ("arithmetic of a step", "FLOP", lambda cost: cost.step_flops, 1000),
    ("kept for the pullback", "B", lambda cost: cost.kept_bytes, 1024),
)
MARKERS = "osD^vP*X<>hdp"
COLOURS = colormaps["tab10"].colors


def _tick(value, place, *, unit, base):
    return scaled(value, unit, base)


def draw_costs(costs):
    """Draw FLOPs and memory by length, one line a model.

    Parameters
    ----------
    costs : list of Cost
        At several lengths.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels on logarithmic axes.
    """
    names = list(dict.fromkeys(cost.model for cost in costs))
    lengths = sorted({cost.n_seq for cost in costs})
    with settings():
        figure, panels = new_figure(5.2, 2, LIGHT)
        for axes, (title, unit, of, base) in zip(panels, PANELS, strict=True):
            for i, name in enumerate(names):
                own = [cost for cost in costs if cost.model == name]
                axes.plot(
                    [cost.n_seq for cost in own], [of(cost) for cost in own], marker=MARKERS[i % len(MARKERS)],
                    color=COLOURS[i % len(COLOURS)], markersize=4, linewidth=1.2, label=PUBLISHED[name].title,
                )  # fmt: skip
            axes.set(xscale="log", yscale="log")
            axes.set_xticks(lengths, [str(n) for n in lengths])
            # Round numbers in the panel's own units: powers of ten, or 16 MiB, 256 MiB, 4 GiB, …
            axes.yaxis.set_major_locator(LogLocator(base=16 if base == 1024 else 10))
            axes.yaxis.set_major_formatter(FuncFormatter(partial(_tick, unit=unit, base=base)))
            axes.minorticks_off()
            axes.set_title(title, color=LIGHT.ink, fontsize=10)
            axes.set_xlabel("tokens", color=LIGHT.muted)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside right center", frameon=False, fontsize=8)
    return figure
