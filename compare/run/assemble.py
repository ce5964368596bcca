"""Make the rows of the report from the results of the units."""

from compare.measure.roof import share_of_roof
from compare.run.plan import Unit
from compare.run.repeat import repeat_command

VERDICT_OF = {"raised": "ERROR", "crashed": "CRASH", "hung": "TIMEOUT"}
BROKEN_PROMISES = {
    "changed": "gave another result while it was timed than before",
    "input ignored": "gave the same result for different inputs while it was timed",
}


def make_rows(selected, entries, request, roof):
    """Put together what the units found.

    Parameters
    ----------
    selected : list of (CaseEntry, ConfigEntry, str, tuple of str)
        From `compare.run.plan.select`.
    entries : dict of (Unit, dict)
        For each unit its ``status``, ``value``, ``message`` and ``seconds``.
    request : Request
        What was asked for.
    roof : Roof or None
        The limits of this machine, if something was timed.

    Returns
    -------
    list of dict
        Rows of the report.
    """
    rows = []
    for case, config, dtype, peers in selected:
        unit = Unit("judge", case.name, config.name, dtype, peers)
        entry = entries.get(unit)
        if entry is not None and entry["status"] == "done":
            found = [dict(row) for row in entry["value"]]
        else:
            wanted = peers if entry else [peer for peer in peers if peer in case.libraries]
            found = [_bare_row(case, config, dtype, peer, request, entry, len(wanted)) for peer in wanted]
        for row in found:
            if row["peer"] in case.libraries:
                _add_measurements(row, case, entries, roof, peers)
        rows += found
    return rows


def above_roof(rows):
    """Tell whether something was faster than the machine can be.

    Parameters
    ----------
    rows : list of dict
        Rows of the report.

    Returns
    -------
    bool
        True if the roof should be measured once more before anyone believes it.
    """
    return any("above the roof" in row["reason"] for row in rows)


def _bare_row(case, config, dtype, peer, request, entry, n_row):
    verdict, reason, seconds = "PASS", "", 0.0
    if entry is not None:
        verdict, reason, seconds = VERDICT_OF[entry["status"]], entry["message"], entry["seconds"] / n_row
    return {
        "case": case.name,
        "section": case.section,
        "title": case.title,
        "config": {"name": config.name, "sizes": config.sizes, "settings": config.settings},
        "dtype": dtype,
        "backend": request.backend,
        "peer": peer,
        "verdict": verdict,
        "reason": reason,
        "repeat": repeat_command(
            case.name, config.name, dtype, peer, request.backend, request.seed, request.plugins
        ),
        "outputs": {"reference": {}, "peer": {}},
        "gradients": {"reference": {}, "peer": {}},
        "memory": None,
        "throughput": None,
        # What hung or died did so in measured code.
        "seconds": {"total": seconds, "measured": seconds},
    }


def _add_measurements(row, case, entries, roof, peers):
    name = row["case"], row["config"]["name"], row["dtype"]
    libraries = tuple(peer for peer in peers if peer in case.libraries)
    cost = entries.get(Unit("cost", *name))
    cost = cost["value"] if cost and cost["status"] == "done" else {"flops": None, "bytes": None, "peak_bytes": None}
    memory = entries.get(Unit("memory", *name, libraries))
    if memory is not None:
        if memory["status"] == "done":
            _add_memory(row, memory["value"], cost, len(libraries))
        else:
            _degrade(row, VERDICT_OF[memory["status"]], f"while memory was measured: {memory['message']}")
    timing = entries.get(Unit("throughput", *name, (row["peer"],)))
    if timing is not None:
        if timing["status"] == "done":
            _add_throughput(row, timing["value"], cost, roof)
        else:
            _degrade(row, VERDICT_OF[timing["status"]], f"while throughput was measured: {timing['message']}")


def _add_memory(row, found, cost, n_peer):
    sides = {"reference": found["reference"], "peer": found[row["peer"]]}
    peaks = {
        side: {field: figure[field] for field in ("peak_bytes", "instrument", "blind_spots")}
        for side, figure in sides.items()
    }
    ours, theirs = (peaks[side]["peak_bytes"] for side in ("reference", "peer"))
    row["memory"] = {**peaks, "analytic_bytes": cost["peak_bytes"], "ratio": ours / theirs if theirs else None}
    _spend(row, sides["reference"]["seconds"] / n_peer + sides["peer"]["seconds"])


def _add_throughput(row, found, cost, roof):
    row["throughput"] = {
        **{field: found[field] for field in ("reference", "peer", "ratio", "ratio_low", "ratio_high", "verdict")},
        **{field: found[field] for field in ("pairs", "processes", "threads")},
        "what": "forward+backward",
        "flops": cost["flops"],
        "bytes": cost["bytes"],
        "share_of_roof": None,
    }
    _spend(row, found["measured_s"], found["total_s"])
    for side, behaviour in found["behaviour"].items():
        if behaviour in BROKEN_PROMISES:
            _degrade(row, "FAIL", f"{side} {BROKEN_PROMISES[behaviour]}")
    for side in ("peer", "reference"):
        share = _share(row["throughput"][side], cost, roof, row["dtype"])
        if share is None:
            return
        if share.above:
            name = row["peer"] if side == "peer" else side
            _degrade(row, "FAIL", f"{name} is above the roof of this machine: something was not computed")
        row["throughput"]["share_of_roof"] = share.share


def _share(times, cost, roof, dtype):
    if roof is None or not (cost["flops"] or cost["bytes"]):
        return None
    return share_of_roof(
        cost["flops"], cost["bytes"], times["median_s"], roof, dtype=dtype, slow_s=times["q75_s"]
    )


def _degrade(row, verdict, reason):
    if row["verdict"] == "PASS":
        row["verdict"], row["reason"] = verdict, reason


def _spend(row, measured, total=None):
    seconds = row["seconds"]
    row["seconds"] = {
        "total": seconds["total"] + (measured if total is None else total),
        "measured": seconds["measured"] + measured,
    }
