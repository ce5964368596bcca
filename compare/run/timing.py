"""Throughput of one unit, as a result that a journal can hold."""

from dataclasses import asdict
from functools import partial

from compare.measure.throughput import ThroughputFailure
from compare.run.jobs import pair
from compare.run.pool import Outcome

# What `compare.measure.throughput` calls an ending, and what an outcome calls it.
STATUS = {"raised": "raised", "died": "crashed", "hung": "hung"}
# Seconds of timed pairs for each row: a row of the quick profile may take two.
BUDGET_S = {"quick": 1.5, "full": 8.0}
N_PROCESS = {"quick": 2, "full": 3}


def time_unit(timers, unit, request, limits):
    """Time the reference of a unit against its peer.

    Parameters
    ----------
    timers : Timers
        The processes that do it.
    unit : Unit
        The unit.
    request : Request
        Tells profile, backend and seed.
    limits : Limits
        What a process may use.

    Returns
    -------
    Outcome
        Its value has the fields of the report's ``throughput`` that are measured, ``behaviour`` of either side,
        and the seconds spent.
    """
    found = timers.pair(partial(pair, unit, request, limits), budget_s=BUDGET_S[request.profile], seed=request.seed)
    if isinstance(found, ThroughputFailure):
        return Outcome(STATUS[found.kind], None, found.message, 0.0)
    comparison = asdict(found.comparison)
    # Before the batches every process runs either side twice to see what it answers.
    untimed = 2 * found.processes * (found.comparison.a.median_s + found.comparison.b.median_s)
    sides = {"reference": "a", "peer": "b"}
    value = {
        **{side: comparison.pop(letter) for side, letter in sides.items()},
        **comparison,
        "behaviour": {side: found.outputs[letter] for side, letter in sides.items()},
        "processes": found.processes,
        "threads": found.n_thread,
        "measured_s": min(found.total_s, found.measured_s + untimed),
        "total_s": found.total_s,
    }
    return Outcome("done", value, "", found.total_s)
