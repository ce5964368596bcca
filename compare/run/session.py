"""One run from the request to the report: plan, resume, run everything in isolation, seal."""

import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from tqdm import tqdm

from compare.run.assemble import above_roof, make_rows
from compare.run.catalogue import describe
from compare.run.environment import describe_environment, overhead
from compare.run.identity import core_count, package_versions, source_digest
from compare.run.journal import Journal
from compare.run.limits import Limits
from compare.run.plan import Unit, left_out, plan, select, unit_key
from compare.run.pool import run_isolated, start_fork_server
from compare.run.problem import Problem

# How often the roof is measured again before a result above it is believed.
N_ROOF = 3


class Session:
    """A run that survives its interruption.

    Parameters
    ----------
    request : Request
        What is wanted.
    folder : path-like
        Where the report goes.
    n_worker : int, optional
        Units that run at once, where nothing is timed.
    limits : Limits, optional
        What each unit may use.
    """

    def __init__(self, request, folder, *, n_worker=2, limits=None):
        self.request, self.folder = request, folder
        self.n_worker, self.limits = n_worker, limits or Limits()
        self.n_thread = core_count()
        self.started, self._start = datetime.now(UTC), time.monotonic()
        self.entries, self.keys = {}, {}
        self.n_finished = 0

    def run(self, command, *, fresh=False):
        """Do what is wanted.

        Parameters
        ----------
        command : str
            How the user asked for it, for the report.
        fresh : bool, optional
            Whether to forget what an interrupted run left.

        Returns
        -------
        report : dict
            The report as it was written, decoded.
        paths : list of Path
            Its files.

        Raises
        ------
        Problem
            For names that do not exist, or a folder that cannot be written to.
        """
        start_fork_server()
        catalogue = read_catalogue(self.request.plugins)
        selected = select(catalogue, self.request)
        units = plan(selected, self.request)
        _check_free(self.folder)
        journal, finished = Journal(self.folder, fresh=fresh), False
        try:
            self.keys = self._keys(units, selected, catalogue)
            self._resume(journal)
            self._work(journal, units)
            report, paths = self._seal(command, selected)
            finished = True
        finally:
            # An interruption may have come between the file and our own books: the file counts.
            self.n_finished = len(journal.read().keys() & self.keys.values())
            journal.close(finished=finished)
        return report, paths

    def _keys(self, units, selected, catalogue):
        contents = {(case.name, config.name): (config.sizes, config.settings) for case, config, *_ in selected}
        circumstances = {
            "profile": self.request.profile, "backend": self.request.backend, "seed": self.request.seed,
            "judged": self.request.judged, "limits": asdict(self.limits), "threads": self.n_thread,
            "packages": package_versions(), "source": source_digest(), "plugins": catalogue.plugins,
        }  # fmt: skip
        return {
            unit: unit_key(unit, contents=contents.get((unit.case, unit.config)), **circumstances) for unit in units
        }

    def _resume(self, journal):
        known = {unit: journal.entries[key] for unit, key in self.keys.items() if key in journal.entries}
        self.entries.update(known)
        # The time of the run goes on where it stopped.
        self._start -= max((entry["wall"] for entry in known.values()), default=0.0)
        if known:
            print(f"resuming: {len(known)} of {len(self.keys)} units were finished before", file=sys.stderr)

    def _work(self, journal, units):
        missing = [unit for unit in units if unit not in self.entries]
        with tqdm(total=len(units), initial=len(units) - len(missing), disable=None, unit="unit", leave=False) as bar:
            for unit, outcome in self._outcomes(missing):
                entry = _plain(outcome) | {"wall": time.monotonic() - self._start}
                journal.append(self.keys[unit], entry)
                self.entries[unit] = entry
                bar.set_postfix_str(f"{unit.case} {unit.config} {unit.dtype}", refresh=False)
                bar.update()

    def _outcomes(self, units):
        from compare.run import jobs

        together = [unit for unit in units if unit.kind in ("judge", "cost", "memory")]
        cases = list(dict.fromkeys(unit.case for unit in units))
        together.sort(key=lambda unit: (unit.kind == "memory", cases.index(unit.case)))
        # The models, which take longest, are last in the catalogue; first here, so that no worker waits for another.
        tasks = [(unit, getattr(jobs, unit.kind), (unit, self.request)) for unit in reversed(together)]
        yield from run_isolated(tasks, n_worker=self.n_worker, limits=self.limits, group=_group)
        # From here on nothing else runs: what is timed must have the machine for itself.
        with ExitStack() as stack:
            timers = None
            for unit in (unit for unit in units if unit.kind in ("roof", "throughput")):
                if unit.kind == "roof":
                    yield unit, self._measure_roof()
                    continue
                timers = timers or stack.enter_context(self._timers())
                from compare.run.timing import time_unit

                yield unit, time_unit(timers, unit, self.request, self.limits)

    def _timers(self):
        from compare.measure.throughput import Timers
        from compare.run.timing import N_PROCESS

        return Timers(
            n_process=N_PROCESS[self.request.profile], n_thread=self.n_thread, timeout_s=self.limits.seconds
        )

    def _measure_roof(self):
        from compare.run import jobs

        dtypes = sorted({unit.dtype for unit in self.keys if unit.kind == "throughput"})
        task = (None, jobs.roof, (dtypes, self.n_thread))
        ((_, outcome),) = run_isolated([task], n_worker=1, limits=self.limits, n_thread=self.n_thread)
        return outcome

    def _seal(self, command, selected):
        from compare.measure.roof import higher
        from compare.report import write_all
        from compare.report.schema import SCHEMA, decode, encode

        roof = _roof(self.entries.get(Unit("roof")))
        rows = make_rows(selected, self.entries, self.request, roof)
        for _ in range(N_ROOF):
            if not above_roof(rows):
                break
            # Whatever else ran on the machine made the roof too low: the highest one counts.
            roof = higher(roof, _roof(_plain(self._measure_roof())) or roof)
            rows = make_rows(selected, self.entries, self.request, roof)
        told = left_out({case.name: case for case, *_ in selected}.values(), self.request)
        environment = describe_environment(self.request, command, self.n_thread, roof, told) | {
            "started": self.started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": overhead(self.entries, self.n_worker, time.monotonic() - self._start),
        }
        report = {"schema": SCHEMA, "environment": environment, "cases": rows}
        paths = write_all(report, self.folder)
        return decode(encode(report)), paths


def read_catalogue(plugins=(), limits=None):
    """Ask a child process for the cases.

    Parameters
    ----------
    plugins : sequence of str, optional
        Modules that add cases.
    limits : Limits, optional
        What the child may use.

    Returns
    -------
    Catalogue
        The cases as plain data.

    Raises
    ------
    Problem
        If a module cannot be imported; one sentence.
    """
    task = (None, describe, (plugins,))
    ((_, outcome),) = run_isolated([task], n_worker=1, limits=limits or Limits())
    if outcome.status != "done":
        raise Problem(f"the cases cannot be read: {outcome.message}")
    return outcome.value


def _group(unit):
    # What a unit left in memory would be seen by the next one's measurement.
    return unit if unit.kind == "memory" else unit.case


def _check_free(folder):
    """Refuse now what would prevent the report from being written after all the work."""
    for path in (Path(folder, f"report.{kind}") for kind in ("json", "md", "html")):
        if path.is_dir():
            raise Problem(f"cannot write {path}: Is a directory")


def _plain(outcome):
    from compare.report.schema import encode

    return encode(asdict(outcome))


def _roof(entry):
    from compare.measure.roof import Roof

    if entry is None or entry["status"] != "done":
        return None
    return Roof(**{field: entry["value"][field] for field in Roof.__dataclass_fields__})
