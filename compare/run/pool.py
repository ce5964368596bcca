"""Run units of work in child processes, and turn whatever happens to them into outcomes.

The fork server of the standard library gives a fresh child in about 10 ms, but each then takes some 100 ms to touch the
pages of the libraries for the first time.  So a few units of one case share a child, and one that hangs or dies takes
none of the others along: they start again in a new one.  `concurrent.futures` cannot end a process that hangs.
"""

import multiprocessing
import os
import signal
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import forkserver
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory

from compare.run.child import serve

PRELOAD = ["compare.run.preload"]
# Units of one group that share a child: enough to pay for its start, few enough to keep all workers busy.
BATCH = 32


@dataclass(frozen=True)
class Outcome:
    """What became of a unit.

    Attributes
    ----------
    status : {"done", "raised", "crashed", "hung"}
        A result, an exception, the end of the process without a result, or silence past the time limit.
    value : object
        The result.
    message : str
        One sentence, when there is no result.
    seconds : float
        From the start of the child to its end.
    """

    status: str
    value: object
    message: str
    seconds: float


def start_fork_server():
    """Begin to import the libraries in the background; returns at once."""
    forkserver.set_forkserver_preload(PRELOAD)
    # The server and all its children inherit these; when a start is interrupted it prints a traceback.
    with _silenced(1, 2):
        forkserver.ensure_running()


@contextmanager
def _silenced(*streams):
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = {stream: os.dup(stream) for stream in streams}
    try:
        for stream in streams:
            os.dup2(nowhere, stream)
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)
        os.close(nowhere)


def run_isolated(tasks, *, n_worker, limits, n_thread=1, group=None):
    """Run tasks, several at a time, in child processes.

    Parameters
    ----------
    tasks : iterable of (key, callable, tuple)
        A name for the task, a function that children can import, and its arguments; both are pickled.
    n_worker : int
        How many children run at once.
    limits : Limits
        What each task may use.
    n_thread : int, optional
        Threads of every library in each.
    group : callable, optional
        ``group(key)``: neighbours of one group share a child, one after the other, until one of them ends it; what was
        left then starts in a new one.  By default every task has a child of its own.

    Yields
    ------
    key : object
        The task's name, in the order in which they end.
    outcome : Outcome
        What became of it.
    """
    start_fork_server()
    waiting, running = deque(_grouped(tasks, group)), []
    with TemporaryDirectory(prefix="refcompare-") as folder:
        try:
            while waiting or running:
                while waiting and len(running) < n_worker:
                    running.append(_Child(waiting.popleft(), limits, n_thread, folder))
                nearest = min(child.deadline for child in running)
                wait([thing for child in running for thing in child.watched], max(0.0, nearest - time.monotonic()))
                for child in list(running):
                    yield from child.answers()
                    if child.is_over:
                        running.remove(child)
                        if child.tasks:
                            waiting.appendleft(list(child.tasks))
        finally:
            for child in running:
                child.end()
                child.join()


def _grouped(tasks, group):
    if group is None:
        return [[task] for task in tasks]
    batches = (list(batch) for _, batch in groupby(tasks, key=lambda task: group(task[0])))
    return [batch[i : i + BATCH] for batch in batches for i in range(0, len(batch), BATCH)]


class _Child:
    """A process that works through some tasks; `tasks` are those without an outcome yet."""

    def __init__(self, tasks, limits, n_thread, folder):
        context = multiprocessing.get_context("forkserver")
        self.tasks, self._limits = deque(tasks), limits
        self._log = Path(folder, f"{time.monotonic_ns()}.log")
        self._pipe, far_end = context.Pipe(duplex=False)
        calls = [(function, arguments) for _, function, arguments in tasks]
        self._process = context.Process(
            target=serve, args=(far_end, limits, str(self._log), n_thread, calls), daemon=True
        )
        self._process.start()  # returns when the fork server has imported the libraries: that is no task's time
        far_end.close()
        self._begin()
        self.watched = (self._pipe, self._process.sentinel)
        self.is_over = False

    def _begin(self):
        self._started = time.monotonic()
        self.deadline = self._started + self._limits.seconds

    def answers(self):
        """Yield what it has to say, and if it is over, one way or another, clean up."""
        while self.tasks and (said := self._received()) is not None:
            status, value = said
            yield self._made(status, value) if status == "done" else self._made(status, None, value)
            self.is_over = self.is_over or status == "crashed"
        if not self.tasks:
            self.is_over = True
        elif not self.is_over and not self._process.is_alive():
            self.is_over = True
            yield self._made("crashed", None, f"the process {_ending(self._process.exitcode)}{self._last_words()}")
        elif not self.is_over and time.monotonic() >= self.deadline:
            self.is_over = True
            yield self._made("hung", None, f"no result within {self._limits.seconds:g} s")
        if self.is_over:
            self.end()
            self._log.unlink(missing_ok=True)

    def _received(self):
        # The end of the pipe alone says nothing: what the child started may hold it open.
        with suppress(EOFError, OSError):
            if self._pipe.poll():
                return self._pipe.recv()
        return None

    def _made(self, status, value, message=""):
        key, *_ = self.tasks.popleft()
        outcome = Outcome(status, value, message, time.monotonic() - self._started)
        self._begin()
        return key, outcome

    def _last_words(self):
        if not self._log.exists():
            return ""
        with self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - 2000))
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        return f"; its last output: {lines[-1][:200]}" if lines else ""

    def end(self):
        """End the child, and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._pipe.close()

    def join(self):
        """Wait until the child is gone; the start of a later one would do, too."""
        self._process.join()


def _ending(code):
    if code is not None and code < 0:
        with suppress(ValueError):
            name = signal.Signals(-code).name
            hint = ", as when the system runs out of memory" if name == "SIGKILL" else ""
            return f"was ended by {name}{hint}"
    return f"ended with exit status {code} and no result"
