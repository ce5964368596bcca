"""Plots of a report, as markup that a page can hold without fetching anything."""

from compare.report.plots.canvas import stylesheet
from compare.report.plots.errors import draw_errors
from compare.report.plots.markup import embed
from compare.report.plots.ratios import draw_memory, draw_time
from compare.report.plots.roofline import draw_roofline
from compare.report.plots.studies import draw_studies
from compare.verdict.spread_rule import LIMIT

__all__ = ["PLOTS", "embed", "stylesheet"]

# Name, heading, what the eye should look for, and the function that draws it.
PLOTS = (
    (
        "errors",
        "Error by component",
        "Largest error over all outputs and gradients, in standard deviations of legal rounding. "
        f"A point beyond the dashed line at {LIMIT:g} σ is a failure.",
        draw_errors,
    ),
    (
        "memory",
        "Memory, reference over peer",
        "Peak bytes requested above the baseline. Left of 1× the reference needs less than its peer.",
        draw_memory,
    ),
    (
        "time",
        "Time, reference over peer",
        "Median of interleaved pairs with its 95 % bootstrap interval; left of 1× the reference is faster. "
        "A hollow point makes no claim: equivalent or inconclusive.",
        draw_time,
    ),
    (
        "roofline",
        "Roofline",
        "Arithmetic done per second against arithmetic per byte moved. The line is what this machine's "
        "matrix product and memory allow.",
        draw_roofline,
    ),
    (
        "studies",
        "Studies",
        "Measurements beside the comparisons, one line a study; what each shows stands with its case below.",
        draw_studies,
    ),
)
