"""Where and how a run took place, for the head of its report."""

import platform
from dataclasses import asdict

from compare.run.identity import core_count, cpu_name, package_versions


def describe_environment(request, command, n_thread, roof, left_out=()):
    """Describe machine, packages and request.

    Parameters
    ----------
    request : Request
        What was asked for.
    command : str
        How.
    n_thread : int
        Threads of every library while throughput was measured.
    roof : Roof or None
        The limits of this machine, if they were measured.
    left_out : sequence of str, optional
        Which peers could not run here, one sentence each.

    Returns
    -------
    dict
        Most of the report's ``environment``.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": core_count(),
        "threads": n_thread,
        "backend": request.backend,
        "profile": request.profile,
        "seed": request.seed,
        "packages": package_versions(),
        "command": command,
        "roof": None if roof is None else asdict(roof),
        "left_out": list(left_out),
    }


def overhead(entries, n_worker, wall):
    """Split the time of a run into measured code and the harness around it.

    Parameters
    ----------
    entries : dict of (Unit, dict)
        What each unit found.
    n_worker : int
        How many units ran at once where nothing is timed.
    wall : float
        Seconds from the start of the run until its report was put together, interruptions left out.

    Returns
    -------
    dict
        ``wall``, ``measured`` (reference, peers, truth, oracles, memory and timing runs), ``overhead`` and its
        share.
    """
    parallel, alone = 0.0, 0.0
    for unit, entry in entries.items():
        if unit.kind in ("throughput", "roof"):
            alone += _measured(unit, entry)
        else:
            parallel += _measured(unit, entry)
    measured = min(wall, parallel / n_worker + alone)
    rest = wall - measured
    return {"wall": wall, "measured": measured, "overhead": rest, "overhead_share": rest / wall if wall else 0.0}


def _measured(unit, entry):
    value = entry["value"]
    if entry["status"] != "done":
        return entry["seconds"]  # it hung or died in measured code
    if unit.kind == "judge":
        return sum(row["seconds"]["measured"] for row in value)
    if unit.kind == "memory":
        return sum(figure["seconds"] for figure in value.values())
    if unit.kind == "throughput":
        return value["measured_s"]
    return value.get("seconds", 0.0)
