"""What changed from one report to another."""

import math
import textwrap
from dataclasses import dataclass

from tabulate import tabulate

from compare.report.schema import row_key
from compare.report.summary import SIDES, VERDICTS, figures
from compare.report.words import ABSENT, printable, ratio, sigmas

ENDED_EARLY = {"ERROR", "TIMEOUT", "CRASH"}
GROWTH = 2.0  # of an error in sigma, which another seed or machine can well halve or double
NOTEWORTHY = 1.0  # sigma; below it an error is smaller than legal rounding makes it
MARGIN = 1.03  # of ratios: within 3 % counts as equivalent


@dataclass(frozen=True)
class Change:
    """One thing that differs.

    Attributes
    ----------
    row : tuple of str
        Case, configuration, dtype, backend, peer.
    kind : {"verdict", "error", "memory", "time", "tensor", "added", "removed"}
        What differs.
    what : str
        The tensor, or the quantity.
    old, new : str or float or None
        Before and after; None where there is none.
    worse : bool
        Whether someone should look at it.
    """

    row: tuple
    kind: str
    what: str
    old: str | float | None
    new: str | float | None
    worse: bool


def diff(old, new):
    """Compare two reports row by row.

    Rows are paired by case, configuration, dtype, backend and peer. An error is reported when it grew by
    more than a factor of 2 to more than 1 sigma, a ratio of times when the intervals do not overlap, a ratio
    of memory, which has no interval, when it moved by more than 3 %.

    Parameters
    ----------
    old, new : dict
        Decoded reports.

    Returns
    -------
    list of Change
        What is worse first, otherwise in the order of the reports.
    """
    before = {row_key(row): row for row in old["cases"]}
    after = {row_key(row): row for row in new["cases"]}
    changes = [
        Change(key, "removed", "row", before[key]["verdict"], None, True)
        for key in before
        if key not in after
    ]
    for key, row in after.items():
        if key in before:
            changes += _row_changes(key, before[key], row)
        else:
            changes.append(Change(key, "added", "row", None, row["verdict"], row["verdict"] != "PASS"))
    return sorted(changes, key=lambda change: not change.worse)


def render(changes):
    """Write changes for a terminal.

    Parameters
    ----------
    changes : list of Change
        From `diff`.

    Returns
    -------
    str
        The changes under the row they belong to, those for the worse in capitals, and their number.
    """
    if not changes:
        return "no change\n"
    groups = {}
    for change in changes:
        groups.setdefault(change.row, []).append(change)
    parts = []
    for row, group in groups.items():
        table = tabulate([_cells(change) for change in group], tablefmt="plain", disable_numparse=True)
        parts.append(printable(" / ".join(row)) + "\n" + textwrap.indent(table, "  "))
    worse = sum(change.worse for change in changes)
    return (
        "\n\n".join(parts) + f"\n\nchanges: {len(changes)}, in rows: {len(groups)}, for the worse: {worse}\n"
    )


def _row_changes(key, old, new):
    changes = []
    if old["verdict"] != new["verdict"]:
        worse = VERDICTS.index(new["verdict"]) > VERDICTS.index(old["verdict"])
        changes.append(Change(key, "verdict", "verdict", old["verdict"], new["verdict"], worse))
    # A row that ended early has lost all its tensors, which its verdict already says.
    whole = not ENDED_EARLY & {old["verdict"], new["verdict"]}
    for kind in ("outputs", "gradients") if whole else ():
        for side in SIDES:
            changes += _tensor_changes(
                key, f"{kind} of {side}", figures(old, kind, side), figures(new, kind, side)
            )
    if old["memory"] and new["memory"]:
        changes += _memory_changes(key, old["memory"]["ratio"], new["memory"]["ratio"])
    if old["throughput"] and new["throughput"]:
        changes += _time_changes(key, old["throughput"], new["throughput"])
    return changes


def _tensor_changes(key, where, old, new):
    for name in {**old, **new}:
        if name not in new:
            yield Change(key, "tensor", f"{name}, {where}", "present", None, True)
        elif name not in old:
            yield Change(key, "tensor", f"{name}, {where}", None, "present", False)
        elif _grew(old[name]["sigma_max"], new[name]["sigma_max"]):
            yield Change(
                key, "error", f"{name}, {where}", old[name]["sigma_max"], new[name]["sigma_max"], True
            )


def _grew(old, new):
    if new is None or old is None:
        return new is None and old is not None
    if math.isnan(new) or math.isnan(old):
        return math.isnan(new) and not math.isnan(old)
    return new > NOTEWORTHY and new > GROWTH * old


def _memory_changes(key, old, new):
    # 0/0 and x/0 say nothing about a change.
    usable = old is not None and new is not None and min(old, new) > 0 and math.isfinite(old * new)
    if not usable or max(old, new) <= MARGIN * min(old, new):
        return []
    return [Change(key, "memory", "reference / peer", old, new, new > old)]


def _time_changes(key, old, new):
    apart = new["ratio_low"] > old["ratio_high"] or new["ratio_high"] < old["ratio_low"]
    return [
        Change(key, "time", "reference / peer", old["ratio"], new["ratio"], new["ratio"] > old["ratio"])
    ] * apart


def _cells(change):
    write = {"error": lambda value: f"{sigmas(value)} σ", "memory": ratio, "time": ratio}.get(
        change.kind, str
    )
    old, new = (ABSENT if value is None else write(value) for value in (change.old, change.new))
    kind = change.kind.upper() if change.worse else change.kind
    return [printable(text) for text in (kind, change.what, f"{old} → {new}")]
