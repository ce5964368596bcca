"""Which units of work a run consists of, and the key by which a finished one is found again."""

import hashlib
import json
from dataclasses import asdict, dataclass

from compare.run.catalogue import check_names
from compare.run.problem import Problem

MEASURES = ("outputs", "gradients", "memory", "throughput")


@dataclass(frozen=True)
class Request:
    """What a user asked for.

    Attributes
    ----------
    cases, configs, dtypes, peers : tuple of str
        Names; empty for all.
    measure : tuple of str
        Which of `MEASURES`.
    profile : {"quick", "full"}
        Which configurations, where none are named.
    backend : {"numpy", "cupy"}
        The library that runs the reference.
    seed : int
        Every configuration derives its own from it.
    plugins : tuple of str
        Modules that add cases.
    """

    cases: tuple = ()
    configs: tuple = ()
    dtypes: tuple = ()
    peers: tuple = ()
    measure: tuple = MEASURES
    profile: str = "quick"
    backend: str = "numpy"
    seed: int = 0
    plugins: tuple = ()

    @property
    def judged(self):
        """The kinds of tensors that are judged.

        Returns
        -------
        tuple of str
            Of outputs and gradients those that were asked for.
        """
        return tuple(kind for kind in ("outputs", "gradients") if kind in self.measure)


@dataclass(frozen=True)
class Unit:
    """One piece of work that succeeds or fails as a whole.

    Attributes
    ----------
    kind : {"judge", "cost", "memory", "throughput", "roof"}
        What is done.
    case, config, dtype : str
        To what; empty for the roof.
    peers : tuple of str
        Compared with whom.
    """

    kind: str
    case: str = ""
    config: str = ""
    dtype: str = ""
    peers: tuple = ()


def select(catalogue, request):
    """List what a request asks for.

    Parameters
    ----------
    catalogue : Catalogue
        What there is.
    request : Request
        What is wanted.

    Returns
    -------
    list of (CaseEntry, ConfigEntry, str, tuple of str)
        Case, configuration, dtype and peers of every group of rows.

    Raises
    ------
    Problem
        For a name that does not exist, or when nothing is left.
    """
    check_names("case", request.cases, catalogue.cases)
    cases = [case for name, case in catalogue.cases.items() if not request.cases or name in request.cases]
    check_names("config", request.configs, (config.name for case in cases for config in case.configs))
    check_names("dtype", request.dtypes, (dtype for case in cases for dtype in case.dtypes))
    known = (peer for case in cases for peer in (*case.libraries, *case.oracles, *case.missing))
    check_names("peer", request.peers, known)
    selected = [
        (case, config, dtype, peers)
        for case in cases
        for config in case.configs
        if _wants_config(request, config)
        for dtype in case.dtypes
        if _wants_dtype(request, config, dtype)
        if (peers := tuple(peer for peer in _peers(request, case, config, dtype) if peer in (request.peers or (peer,))))
        if request.judged or _is_measured(request, config)
    ]
    if not selected:
        told = "; ".join(left_out(cases, request)) or "no configuration has all that was asked for"
        raise Problem(f"nothing to compare: {told}")
    return selected


def left_out(cases, request):
    """Say which peers cannot run here.

    Parameters
    ----------
    cases : iterable of CaseEntry
        What is compared.
    request : Request
        What is wanted.

    Returns
    -------
    list of str
        One sentence for each peer.
    """
    names = {}
    for case in cases:
        for peer, missing in case.missing.items():
            if peer in (request.peers or (peer,)):
                names.setdefault((peer, missing), []).append(case.name)
    return [f"not compared with {peer}: {', '.join(found)} ({missing})" for (peer, missing), found in names.items()]


def plan(selected, request):
    """List the units of work.

    Parameters
    ----------
    selected : list of (CaseEntry, ConfigEntry, str, tuple of str)
        From `select`.
    request : Request
        What is wanted.

    Returns
    -------
    list of Unit
        In the order in which they should run: what is timed comes last.
    """
    units = []
    for case, config, dtype, peers in selected:
        libraries = tuple(peer for peer in peers if peer in case.libraries)
        if request.judged:
            units.append(Unit("judge", case.name, config.name, dtype, peers))
        if libraries and _is_measured(request, config):
            units.append(Unit("cost", case.name, config.name, dtype))
            if "memory" in request.measure:
                units.append(Unit("memory", case.name, config.name, dtype, libraries))
            if "throughput" in request.measure:
                units += [Unit("throughput", case.name, config.name, dtype, (peer,)) for peer in libraries]
    if any(unit.kind == "throughput" for unit in units):
        units.append(Unit("roof"))
    order = ("judge", "cost", "memory", "roof", "throughput")
    return sorted(units, key=lambda unit: order.index(unit.kind))


def unit_key(unit, **circumstances):
    """Name a unit by all that its result depends on.

    Parameters
    ----------
    unit : Unit
        The unit.
    **circumstances : object
        Everything else: contents of the configuration, backend, seed, versions, sources, limits.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    text = json.dumps({"unit": asdict(unit), **circumstances}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _wants_config(request, config):
    if request.configs:
        return config.name in request.configs
    return request.profile == "full" or config.profile == "quick"


def _wants_dtype(request, config, dtype):
    if request.dtypes:
        return dtype in request.dtypes
    # What is large enough to be measured would take most of the time in the other dtypes, and show nothing new.
    return dtype == "float32" or not config.measured


def _peers(request, case, config, dtype):
    # Complex step and HIPS autograd give gradients only.
    return case.peers(config, dtype) if "gradients" in request.measure else case.libraries


def _is_measured(request, config):
    return config.measured and bool({"memory", "throughput"} & set(request.measure))
