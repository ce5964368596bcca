"""Run units of work, each in a child process of its own, and turn whatever happens to it into an outcome.

The fork server of the standard library gives a fresh child in about 10 ms.  Pools of processes keep a child for many
tasks (`concurrent.futures`, which cannot end one that hangs) or take 100 ms to replace it (`pebble`); here a unit
can neither leave anything behind for the next one nor take it along.
"""

import multiprocessing
import os
import signal
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory

from compare.run.child import serve

PRELOAD = ["compare.run.preload"]


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


def run_isolated(tasks, *, n_worker, limits, n_thread=1):
    """Run tasks, several at a time, each in a fresh child process.

    Parameters
    ----------
    tasks : iterable of (key, callable, tuple)
        A name for the task, a function that children can import, and its arguments; both are pickled.
    n_worker : int
        How many run at once.
    limits : Limits
        What each may use.
    n_thread : int, optional
        Threads of every library in each.

    Yields
    ------
    key : object
        The task's name, in the order in which they end.
    outcome : Outcome
        What became of it.
    """
    start_fork_server()
    waiting, running = deque(tasks), []
    with TemporaryDirectory(prefix="refcompare-") as folder:
        try:
            while waiting or running:
                while waiting and len(running) < n_worker:
                    running.append(_Child(*waiting.popleft(), limits, n_thread, folder))
                nearest = min(child.deadline for child in running)
                wait([thing for child in running for thing in child.watched], max(0.0, nearest - time.monotonic()))
                for child in [child for child in running if child.has_ended()]:
                    running.remove(child)
                    yield child.key, child.outcome
        finally:
            for child in running:
                child.end()
                child.join()


class _Child:
    def __init__(self, key, function, arguments, limits, n_thread, folder):
        context = multiprocessing.get_context("forkserver")
        self.key, self._limits = key, limits
        self._log = Path(folder, f"{time.monotonic_ns()}.log")
        self._started = time.monotonic()
        self.deadline = self._started + limits.seconds
        self._pipe, far_end = context.Pipe(duplex=False)
        self._process = context.Process(
            target=serve, args=(far_end, limits, str(self._log), n_thread, function, arguments), daemon=True
        )
        self._process.start()
        far_end.close()
        self.watched = (self._pipe, self._process.sentinel)
        self.outcome = None

    def has_ended(self):
        """Look once; if it is over, one way or another, clean up and set the outcome."""
        said = self._received()
        if said is not None:
            status, value = said
            self.end()
            self.outcome = self._made(status, value) if status == "done" else self._made(status, None, value)
        elif not self._process.is_alive():
            code = self._process.exitcode
            self.end()
            self.outcome = self._made("crashed", None, f"the process {_ending(code)}{self._last_words()}")
        elif time.monotonic() >= self.deadline:
            self.end()
            self.outcome = self._made("hung", None, f"no result within {self._limits.seconds:g} s")
        if self.outcome is not None:
            self._log.unlink(missing_ok=True)
        return self.outcome is not None

    def _received(self):
        # The end of the pipe alone says nothing: what the child started may hold it open.
        with suppress(EOFError, OSError):
            if self._pipe.poll():
                return self._pipe.recv()
        return None

    def _made(self, status, value, message=""):
        return Outcome(status, value, message, time.monotonic() - self._started)

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
