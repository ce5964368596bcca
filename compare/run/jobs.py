"""The work of one unit, done in a child process: from plain data to plain data."""

import os
import time

from compare.cases.registry import case_named, register


def find(unit, plugins):
    """Look up what a unit is about.

    Parameters
    ----------
    unit : Unit
        The unit.
    plugins : sequence of str
        Modules that add cases.

    Returns
    -------
    case : Case
        Its case.
    config : Config
        Its configuration.
    """
    for module in plugins:
        register(module)
    case = case_named(unit.case)
    return case, case.config_named(unit.config)


def judge(unit, request):
    """Compare the reference and the unit's peers with the truth.

    Parameters
    ----------
    unit : Unit
        The unit.
    request : Request
        Tells backend, seed, and what is judged.

    Returns
    -------
    list of dict
        Rows of the report, with plain numbers.
    """
    from compare.run.row import judge_config

    case, config = find(unit, request.plugins)
    rows = judge_config(
        case, config, unit.dtype, peers=unit.peers, backend=request.backend, seed=request.seed,
        what=request.judged, plugins=request.plugins,
    )  # fmt: skip
    if case.study and rows and (config.name, unit.dtype) == (case.configs[0].name, case.dtypes[0]):
        # Once for the whole case; it stands in the first of its rows.
        start = time.perf_counter()
        rows[0]["study"] = case.study(request.seed)
        spent = time.perf_counter() - start
        rows[0]["seconds"] = {kind: found + spent for kind, found in rows[0]["seconds"].items()}
    return rows


def cost(unit, request):
    """Count what the reference must do, by letting shape-only arrays flow through it.

    Parameters
    ----------
    unit : Unit
        The unit.
    request : Request
        Tells the seed.

    Returns
    -------
    dict
        ``flops``, compulsory ``bytes`` and the analytic ``peak_bytes``.
    """
    from compare.run.subjects import count_cost

    case, config = find(unit, request.plugins)
    start = time.perf_counter()
    return count_cost(case, config, unit.dtype, request.seed) | {"seconds": time.perf_counter() - start}


def memory(unit, request):
    """Measure the peak memory of the reference and of the unit's peers.

    Parameters
    ----------
    unit : Unit
        The unit.
    request : Request
        Tells backend and seed.

    Returns
    -------
    dict
        For each implementation the figure of `compare.measure.memory`, as a dict, and the seconds it took.
    """
    from dataclasses import asdict

    from compare.measure.memory import peak_bytes
    from compare.run.subjects import make_subjects

    case, config = find(unit, request.plugins)
    names, found = ("reference", *unit.peers), {}
    for subject in make_subjects(case, config, unit.dtype, names, request.backend, request.seed):
        start = time.perf_counter()
        found[subject.name] = asdict(peak_bytes(subject))
        found[subject.name]["seconds"] = time.perf_counter() - start
    return found


def roof(dtypes, n_thread):
    """Measure what this machine can do.

    Parameters
    ----------
    dtypes : sequence of str
        For which a matrix product is timed.
    n_thread : int
        Threads of every library.

    Returns
    -------
    dict
        The figures of `compare.measure.roof.Roof`, and the seconds it took.
    """
    from dataclasses import asdict

    import torch  # noqa: F401  (its matrix product counts as well)

    from compare.measure.roof import measure_roof
    from compare.measure.threads import limited_threads

    start = time.perf_counter()
    with limited_threads(n_thread):
        found = measure_roof(dtypes)
    return asdict(found) | {"seconds": time.perf_counter() - start}


def pair(unit, request, limits):
    """Build the two subjects whose throughput is compared, in a child process that stays for the next pair.

    Parameters
    ----------
    unit : Unit
        The unit; it has one peer.
    request : Request
        Tells backend and seed.
    limits : Limits
        What the child may use.

    Returns
    -------
    tuple of Subject
        The reference and the peer.
    """
    from compare.run.limits import confine
    from compare.run.subjects import make_subjects

    confine(limits, os.devnull)
    case, config = find(unit, request.plugins)
    return make_subjects(case, config, unit.dtype, ("reference", *unit.peers), request.backend, request.seed)
