"""Run the comparison of a folder in a child process, and make its report."""

import time
from datetime import UTC, datetime
from pathlib import Path

from tabulate import tabulate

from compare.folder.job import SECTION, compare_folder, finding, sentence
from compare.folder.layers import ALONE, IN_MODEL
from compare.folder.progress import watched
from compare.report.words import number, printable, sigmas
from compare.run.pool import run_isolated
from compare.run.problem import Problem
from refimpl.checkpoints.files.reader import MAX_BYTES

MOST_SHOWN = 20


def run_folders(folders, request, limits, command, *, against=None, text=None, n_token=None, max_bytes=MAX_BYTES):
    """Compare folders, one after the other.

    Parameters
    ----------
    folders : sequence of path-like
        The checkpoints.
    request : Request
        Tells dtypes and seed.
    limits : Limits
        What each may use.
    command : str
        How the user asked for it, for the report.
    against : path-like, optional
        Another checkpoint, which `transformers` loads instead.
    text : str, optional
        What the models read.
    n_token : int, optional
        How many random tokens they read, if there is no text; by default 12, or as many as a model has positions.
    max_bytes : int, optional
        Most bytes that the weights may need.

    Returns
    -------
    report : dict
        The report.
    differences : list of str
        How the two checkpoints differ.

    Raises
    ------
    Problem
        If a folder is refused, or given twice; one sentence.
    """
    from compare.run.environment import describe_environment

    started, start = datetime.now(UTC), time.monotonic()
    rows, differences = [], []
    dtypes = list(request.dtypes) or ["float64", "float32"]
    for folder, name in zip(folders, _names(folders), strict=True):
        with watched(name) as told:
            arguments = (
                str(folder), against and str(against), dtypes, text, n_token, request.seed, max_bytes,
                limits.memory_bytes, told,
            )  # fmt: skip
            ((_, outcome),) = run_isolated([(None, compare_folder, arguments)], n_worker=1, limits=limits)
        if outcome.status != "done":
            raise Problem(f"{folder} could not be compared: {outcome.message}")
        if "refused" in outcome.value:
            raise Problem(outcome.value["refused"])
        rows += [{**row, "case": name} for row in outcome.value["rows"]]
        differences += outcome.value["differences"]
    wall = time.monotonic() - start
    measured = min(wall, sum(row["seconds"]["measured"] for row in rows))
    environment = describe_environment(request, command, 1, None) | {
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {
            "wall": wall, "measured": measured, "overhead": wall - measured,
            "overhead_share": (wall - measured) / wall if wall else 0.0,
        },
    }  # fmt: skip
    return {"schema": "refimpl-compare/1", "environment": environment, "cases": rows}, differences


def _names(folders):
    """Name folders by their last part, where that tells them apart."""
    paths = [str(Path(folder).resolve()) for folder in folders]
    if len({*paths}) < len(paths):
        raise Problem("every folder must be given once")
    names = [Path(path).name for path in paths]
    return names if len({*names}) == len(names) else [str(folder) for folder in folders]


def render(report, differences):
    """Write what was found for a terminal: a table for each folder and dtype.

    Parameters
    ----------
    report : dict
        The report.
    differences : list of str
        How the two checkpoints differ.

    Returns
    -------
    str
        The tables, and what they say in a sentence each.
    """
    parts = []
    rows = [row for row in report["cases"] if row["section"] == SECTION]
    for case, dtype in dict.fromkeys((row["case"], row["dtype"]) for row in rows):
        own = [row for row in rows if (row["case"], row["dtype"]) == (case, dtype)]
        headers = (
            f"{printable(case)}: {own[0]['title']}, {dtype}", "alone, σ", "in the model, σ", "alone, at most",
            "in the model", "",
        )  # fmt: skip
        body = [(row["config"]["name"], *_figures(row["outputs"]["peer"]), _word(row)) for row in own]
        parts.append(tabulate(body, headers, tablefmt="simple", disable_numparse=True))
        found = [finding(dtype, {row["config"]["name"]: row["outputs"]["peer"] for row in own})]
        parts.append(" ".join([*found, *map(sentence, own[0]["config"]["settings"]["notes"])]))
    if differences:
        more = [f"and {len(differences) - MOST_SHOWN} more"] if len(differences) > MOST_SHOWN else []
        parts.append("\n  ".join(["The two checkpoints differ:", *map(printable, differences[:MOST_SHOWN]), *more]))
    return "\n\n".join(parts)


def _figures(peer):
    found = [peer[which] for which in (ALONE, IN_MODEL)]
    return [*(sigmas(figures["sigma_max"]) for figures in found), *(number(figures["abs_max"]) for figures in found)]


def _word(row):
    if row["verdict"] == "PASS":
        return ""
    return "adds an error" if not row["outputs"]["peer"][ALONE]["passed"] else "inherits it"
