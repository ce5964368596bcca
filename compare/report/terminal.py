"""The report as tables in a terminal."""

import textwrap

from tabulate import tabulate

from compare.report.summary import counts, lines, not_passed, worst_element
from compare.report.words import ABSENT, number, pair, printable, ratio, seconds, sigmas, tolerance
from compare.verdict.spread_rule import LIMIT

HEADERS = ("case", "dtype", "verdict", "σ out", "σ grad", "tol", "mem", "time")
LEGEND = (
    "σ out, σ grad: largest error of reference / peer in outputs and gradients, in standard deviations of "
    f"legal rounding (limit {LIMIT:g}). tol: the smallest tolerance that would pass the reference. mem, time: "
    "reference over peer. Each line is the worst of its configurations and peers."
)


def render(report, width=100):
    """Write a report for a terminal.

    Parameters
    ----------
    report : dict
        A decoded report.
    width : int, optional
        Columns of the terminal.

    Returns
    -------
    str
        Summary table, legend, what did not pass in detail, totals.
    """
    # One table a section would give every section other column widths.
    parts = [_summary(lines(report), width), textwrap.fill(LEGEND, width)]
    parts += [_failure(row, width) for row in not_passed(report)]
    parts.append(totals(report))
    return "\n\n".join(parts) + "\n"


def cells(line):
    """Write one line of the summary.

    Parameters
    ----------
    line : Line
        A case in a dtype.

    Returns
    -------
    list of str
        One cell for each of `HEADERS`.
    """
    backend = "" if line.backend == "numpy" else f" {line.backend}"
    speed = f"{ratio(line.time_ratio)} {line.time_word}" if line.time_word else ABSENT
    texts = [line.case, line.dtype + backend, line.verdict, pair(*line.outputs), pair(*line.gradients)]
    texts += [tolerance(line.min_tolerance), ratio(line.memory_ratio), speed]
    return [printable(text) for text in texts]


def totals(report):
    """Write the verdicts, what could not be compared, the time and the harness overhead.

    Parameters
    ----------
    report : dict
        A report.

    Returns
    -------
    str
        Two lines, and one for each peer that could not run.
    """
    found = counts(report)
    total = len(report["cases"])
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in found.items()) or "nothing was compared"
    time = report["environment"]["seconds"]
    return (
        f"{total} comparisons: {verdicts}\n"
        + "".join(f"{printable(told)}\n" for told in report["environment"].get("left_out", ()))
        + f"{seconds(time['wall'])} in all, {seconds(time['measured'])} in measured code, "
        f"harness overhead {seconds(time['overhead'])} ({time['overhead_share']:.0%})"
    )


def detail(row):
    """Say what is wrong with a row.

    Parameters
    ----------
    row : dict
        A row of the report.

    Returns
    -------
    list of (str, str)
        Labels and texts: the reason, the worst element with both values, the command that repeats it.
    """
    said = [("reason", row["reason"] or "none given")]
    found = worst_element(row)
    if found:
        side, kind, name, error = found
        element = f"[{', '.join(map(str, error['worst_index']))}]" if error["worst_index"] is not None else ""
        said.append(("worst", f"{kind} {name}{element} of the {side}: {sigmas(error['sigma_max'])} σ"))
        said.append(
            ("values", f"got {number(error['worst_value'], 9)}, truth {number(error['worst_truth'], 9)}")
        )
    said.append(("repeat", row["repeat"]))
    return [(label, printable(text)) for label, text in said]


def _summary(found, width):
    body, section = [], None
    for line in found:
        if line.section != section:
            section = line.section
            body.append([printable(section).upper()] + [""] * (len(HEADERS) - 1))
        body.append(cells(line))
    excess = max(map(len, _table(body).split("\n"))) - width
    longest = max((len(row[0]) for row in body), default=0)
    for row in body:
        row[0] = _shorten(row[0], max(12, longest - max(0, excess)))
    return _table(body)


def _table(body):
    aligned = ("left", "left", "left", *["right"] * 4, "left") if body else None
    return tabulate(body, HEADERS, tablefmt="simple", colalign=aligned, disable_numparse=True)


def _shorten(name, room):
    # The ends of names tell variants apart (_pre and _post), so it is the middle that gives way.
    return name if len(name) <= room else f"{name[: room - 6]}…{name[-5:]}"


def _failure(row, width):
    name = " / ".join((row["case"], row["config"]["name"], row["dtype"], row["backend"], row["peer"]))
    text = [f"{row['verdict']}  {printable(name)}"]
    for label, said in detail(row):
        indent = f"  {label:<7}  "
        # A command that is broken over lines could not be copied.
        wrapped = [said] if label == "repeat" else textwrap.wrap(said, max(20, width - len(indent)))
        text.append(
            textwrap.indent("\n".join(wrapped), " " * len(indent)).replace(" " * len(indent), indent, 1)
        )
    return "\n".join(text)
