"""What a report says in few numbers: the worst of each case, in each dtype."""

import math
from dataclasses import dataclass

from compare.report.schema import row_key

# From harmless to grave: the worst of several verdicts is the last in this order.
VERDICTS = ("PASS", "WAIVED", "INCONCLUSIVE", "FAIL", "ERROR", "TIMEOUT", "CRASH")
SIDES = ("reference", "peer")


@dataclass(frozen=True)
class Line:
    """One case in one dtype: the worst of its configurations and peers.

    Attributes
    ----------
    section, case, title, dtype, backend : str
        What was compared.
    verdict : str
        The gravest.
    rows : list of dict
        The rows of the report that it sums up.
    outputs, gradients : tuple of (float or None)
        Largest error in sigma of the reference and of the peer.
    min_tolerance : float or None
        Smallest tolerance that would pass the reference everywhere.
    memory_ratio : float or None
        Largest ratio of peak bytes, reference over peer.
    time_ratio : float or None
        Largest ratio of times, reference over peer.
    time_word : str
        What the interval of that ratio allows to say.
    """

    section: str
    case: str
    title: str
    dtype: str
    backend: str
    verdict: str
    rows: list
    outputs: tuple
    gradients: tuple
    min_tolerance: float | None
    memory_ratio: float | None
    time_ratio: float | None
    time_word: str


def worst(values):
    """Find the worst of some error figures.

    Parameters
    ----------
    values : iterable of (float or None)
        None is what was not measured.

    Returns
    -------
    float or None
        NaN if there is one, else the largest; None if nothing was measured.
    """
    known = [value for value in values if value is not None]
    # NaN compares as False with everything, so max() could step over it.
    return max(known, key=lambda value: (math.isnan(value), value), default=None)


def gravest(verdicts):
    """Find the gravest of some verdicts.

    Parameters
    ----------
    verdicts : iterable of str
        At least one.

    Returns
    -------
    str
        The one that comes last in `VERDICTS`.
    """
    return max(verdicts, key=VERDICTS.index)


def figures(row, kind, side):
    """Look up the error figures of one side.

    Parameters
    ----------
    row : dict
        A row of the report.
    kind : {"outputs", "gradients"}
        Which tensors.
    side : {"reference", "peer"}
        Whose.

    Returns
    -------
    dict
        Error figures by tensor name; empty where there are none.
    """
    return row[kind].get(side, {})


def sigma(rows, kind, side):
    """Find the largest error.

    Parameters
    ----------
    rows : list of dict
        Rows of the report.
    kind : {"outputs", "gradients"}
        Which tensors.
    side : {"reference", "peer"}
        Whose.

    Returns
    -------
    float or None
        In units of sigma.
    """
    return worst(error["sigma_max"] for row in rows for error in figures(row, kind, side).values())


def lines(report):
    """Sum up a report, one line for each case in each dtype.

    Parameters
    ----------
    report : dict
        A decoded report.

    Returns
    -------
    list of Line
        In the order of the report.
    """
    groups = {}
    for row in report["cases"]:
        groups.setdefault((row["section"], row["case"], row["dtype"], row["backend"]), []).append(row)
    return [_line(key, rows) for key, rows in groups.items()]


def counts(report):
    """Count the verdicts.

    Parameters
    ----------
    report : dict
        A report.

    Returns
    -------
    dict
        Number of rows by verdict, those that occur, from harmless to grave.
    """
    found = [row["verdict"] for row in report["cases"]]
    return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


def not_passed(report):
    """List the rows that someone has to look at.

    Parameters
    ----------
    report : dict
        A report.

    Returns
    -------
    list of dict
        Rows whose verdict is not PASS, the gravest first.
    """
    rows = [row for row in report["cases"] if row["verdict"] != "PASS"]
    return sorted(rows, key=lambda row: (-VERDICTS.index(row["verdict"]), row_key(row)))


def badness(error):
    """Order the error figures of tensors.

    Parameters
    ----------
    error : dict
        Error figures of one tensor.

    Returns
    -------
    tuple
        The larger, the worse: what failed is worse than what passed, then NaN, then the error in sigma.
    """
    size = error["sigma_max"]
    known = size is not None
    return not error["passed"], known and math.isnan(size), size if known else -1.0


def worst_element(row):
    """Find the element that is furthest off.

    Parameters
    ----------
    row : dict
        A row of the report.

    Returns
    -------
    tuple or None
        Side, kind, tensor name and its error figures; of those that did not pass if there are any. None
        where there are no tensors.
    """
    found = [
        (side, kind, name, error)
        for kind in ("outputs", "gradients")
        for side in SIDES
        for name, error in figures(row, kind, side).items()
    ]
    return max(found, key=lambda item: badness(item[3]), default=None)


def _line(key, rows):
    section, case, dtype, backend = key
    timed = [row["throughput"] for row in rows if row["throughput"]]
    slowest = max(timed, key=lambda timing: timing["ratio"], default=None)
    return Line(
        section=section,
        case=case,
        title=rows[0]["title"],
        dtype=dtype,
        backend=backend,
        verdict=gravest(row["verdict"] for row in rows),
        rows=rows,
        outputs=tuple(sigma(rows, "outputs", side) for side in SIDES),
        gradients=tuple(sigma(rows, "gradients", side) for side in SIDES),
        min_tolerance=worst(
            error["min_tolerance"]
            for row in rows
            for kind in ("outputs", "gradients")
            for error in figures(row, kind, "reference").values()
        ),
        memory_ratio=worst(row["memory"]["ratio"] for row in rows if row["memory"]),
        time_ratio=slowest["ratio"] if slowest else None,
        time_word=slowest["verdict"] if slowest else "",
    )
