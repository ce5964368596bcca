"""Throughput of two programs by interleaved pairs of batches in several processes."""

import math
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass

from compare.measure.bench import Bench
from compare.measure.paired import Comparison, compare_pairs
from compare.measure.subject import Subject
from compare.measure.worker import Worker, WorkerError

# A round trip through the pipe takes some 0.1 ms: half a percent of a batch, the same for both sides.
BATCH_S = 0.02
# Every call of a batch has inputs of its own, made beforehand and held in memory.
MOST_CALLS = 16384
N_LATENCY = 15
# Of two processes together these are six, the fewest for which a median has a 95 % interval.
FEWEST_PAIRS = 3


@dataclass(frozen=True)
class Throughput:
    """The outcome of timing two programs against each other.

    Attributes
    ----------
    comparison : Comparison
        Medians, quartiles, the ratio with its interval, the verdict.
    outputs : dict of str to str
        For "a" and "b": "unchanged" when timed calls gave, bit for bit, the results from before;
        "changed", "input ignored" or "not repeatable" otherwise. The worst over the processes.
    calls : dict of str to int
        Calls in a batch of "a" and of "b", in the last process.
    processes, n_thread : int
        Processes that took part, and threads of every pool in each.
    thread_counts : dict of str to int
        What every pool answered.
    latency_s : float
        Round trip of an empty command. It is part of every batch and not subtracted.
    measured_s, total_s : float
        Seconds inside batches, those that were discarded on the way to the right size included, and seconds altogether.
    """

    comparison: Comparison
    outputs: dict[str, str]
    calls: dict[str, int]
    processes: int
    n_thread: int
    thread_counts: dict[str, int]
    latency_s: float
    measured_s: float
    total_s: float


@dataclass(frozen=True)
class ThroughputFailure:
    """Timing that came to nothing.

    Attributes
    ----------
    kind : {"raised", "died", "hung"}
        What the child did.
    message : str
        One sentence.
    """

    kind: str
    message: str


class Timers:
    """A pool of child processes that time one row after the other, started once.

    Parameters
    ----------
    n_process : int
        Processes for every row. Only one of them works at a time.
    n_thread : int
        Threads for every pool of every library.
    timeout_s : float
        Longest wait for one reply of a child.
    """

    def __init__(self, *, n_process: int = 2, n_thread: int = 1, timeout_s: float = 60.0):
        self._n_thread, self._timeout_s = n_thread, timeout_s
        self._workers: list[Worker | None] = [None] * n_process

    def __enter__(self) -> "Timers":
        return self

    def __exit__(self, *error) -> None:
        for worker in self._workers:
            if worker is not None:
                worker.end()

    def pair(
        self, recipe: Callable[[], tuple[Subject, Subject]], *, budget_s: float = 1.0, seed: int = 0
    ) -> Throughput | ThroughputFailure:
        """Time two subjects against each other.

        Parameters
        ----------
        recipe : callable
            Picklable; ``recipe()`` builds (a, b) anew in each child.
        budget_s : float
            Seconds for all processes together. `FEWEST_PAIRS` are timed in each, however long they take.
        seed : int
            Seed of the bootstrap.

        Returns
        -------
        Throughput or ThroughputFailure
            The comparison, or how a child failed. After a failure the next row gets a new child.
        """
        payload = pickle.dumps(recipe)
        started = time.perf_counter()
        runs = []
        for i in range(len(self._workers)):
            if self._workers[i] is None:
                self._workers[i] = Worker(Bench, timeout_s=self._timeout_s)
            try:
                runs.append(
                    time_pairs(self._workers[i], payload, self._n_thread, budget_s / len(self._workers))
                )
            except WorkerError as failure:
                self._workers[i] = None
                return ThroughputFailure(failure.kind, str(failure))
        return self._summary(runs, seed, time.perf_counter() - started)

    def _summary(self, runs, seed, total_s):
        return Throughput(
            comparison=compare_pairs([run.pairs for run in runs], seed=seed),
            outputs={side: _worst(run.outputs[side] for run in runs) for side in "ab"},
            calls=runs[-1].calls, processes=len(runs), n_thread=self._n_thread,
            thread_counts=runs[-1].thread_counts, latency_s=max(run.latency_s for run in runs),
            measured_s=sum(run.measured_s for run in runs), total_s=total_s,
        )


@dataclass(frozen=True)
class ProcessRun:
    """What one process contributed.

    Attributes
    ----------
    pairs : list of (float, float)
        Seconds per call of a and of b.
    outputs, calls, thread_counts : dict
        As in `Throughput`.
    latency_s, measured_s : float
        As in `Throughput`.
    """

    pairs: list[tuple[float, float]]
    outputs: dict[str, str]
    calls: dict[str, int]
    thread_counts: dict[str, int]
    latency_s: float
    measured_s: float


def time_pairs(
    worker: Worker,
    payload: bytes,
    n_thread: int,
    budget_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> ProcessRun:
    """Time pairs of batches in one process until the budget is spent.

    Parameters
    ----------
    worker : Worker
        The process, which serves a `Bench`.
    payload : bytes
        The pickled recipe.
    n_thread : int
        Threads for every pool.
    budget_s : float
        Beyond the fewest pairs, none begins that would end later, going by the last one.
    clock : callable
        Tells how much of the budget is spent.

    Returns
    -------
    ProcessRun
        At least `FEWEST_PAIRS` pairs, and what was checked.
    """
    worker.ask("idle")  # a new process starts and imports at no one's expense
    deadline = clock() + budget_s
    thread_counts = worker.ask("open", payload, n_thread)
    latency_s = sorted(worker.timed("idle")[1] for _ in range(N_LATENCY))[N_LATENCY // 2]
    calls, measured_s = {}, 0.0
    for side in "ab":
        calls[side], seconds = _calls_for_a_batch(worker, side)
        measured_s += seconds
    pairs, pair_s = [], 0.0
    while len(pairs) < FEWEST_PAIRS or clock() + pair_s <= deadline:
        started = clock()
        # Each pair is led by the other side in turn: a steady drift favours both equally often.
        order, kind = ("ab", "altered") if len(pairs) % 2 == 0 else ("ba", "plain")
        seconds = {side: _batch(worker, side, calls[side], kind) for side in order}
        measured_s += sum(seconds.values())
        pairs.append((seconds["a"] / calls["a"], seconds["b"] / calls["b"]))
        pair_s = clock() - started
    outputs = {side: worker.ask("verify", side) for side in "ab"}
    worker.ask("close")
    return ProcessRun(pairs, outputs, calls, thread_counts, latency_s, measured_s)


def _batch(worker, side, n_call, kind):
    worker.ask("prepare", side, n_call, kind)
    return worker.timed("run")[1]


def _calls_for_a_batch(worker, side):
    """Find how many calls take long enough, and say how long that took; each attempt also warms the step up."""
    n_call, spent = 1, 0.0
    while True:
        seconds = _batch(worker, side, n_call, "plain")
        spent += seconds
        if seconds >= BATCH_S or n_call == MOST_CALLS:
            return n_call, spent
        # A fifth more than needed, so that a batch that is a little quicker later is still long enough.
        n_call = min(MOST_CALLS, max(n_call + 1, math.ceil(1.2 * n_call * BATCH_S / seconds)))


def _worst(outcomes):
    return max(outcomes, key=["unchanged", "not repeatable", "input ignored", "changed"].index)
