"""A child process that obeys commands, seen from the parent, who owns the clock and the time limit."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait

from compare.measure.bench import serve

# Imported once in the fork server: a child then starts in milliseconds instead of the seconds torch takes.
PRELOAD = ["compare.measure.bench", "numpy", "scipy.special", "torch"]


class WorkerError(Exception):
    """A child did not do what it was told.

    Parameters
    ----------
    kind : {"raised", "died", "hung"}
        An exception in the child, the end of the child, or silence past the time limit.
    message : str
        One sentence.
    """

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


class Worker:
    """One child process with a pipe.

    Parameters
    ----------
    make_target : callable
        Made in the child; its methods are the commands. Must be picklable.
    timeout_s : float
        Longest wait for one reply.
    """

    def __init__(self, make_target: Callable[[], object], *, timeout_s: float = 60.0):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        self._timeout_s = timeout_s
        self._pipe, child_end = context.Pipe()
        self._process = context.Process(target=serve, args=(child_end, make_target), daemon=True)
        self._process.start()
        child_end.close()
        self._is_ready = False

    def ask(self, *command) -> object:
        """Send a command and wait for its reply.

        Parameters
        ----------
        *command
            Name of the method, then its arguments.

        Returns
        -------
        object
            What the method returned.
        """
        return self.timed(*command)[0]

    def timed(self, *command) -> tuple[object, float]:
        """Send a command, wait for its reply, and take the time by the parent's clock.

        Parameters
        ----------
        *command
            Name of the method, then its arguments.

        Returns
        -------
        value : object
            What the method returned.
        seconds : float
            From sending the command to the arrival of the reply.

        Raises
        ------
        WorkerError
            When the child raised, died or kept silent. It is ended in any case.
        """
        try:
            if not self._is_ready:
                self._receive("start")
                self._is_ready = True
            started = time.perf_counter()
            self._pipe.send(command)
            (status, value), arrived = self._receive(command[0])
        except (EOFError, OSError):
            raise self._failure("died", f"the process ended during {command[0]!r}") from None
        if status == "raised":
            raise self._failure("raised", value)
        return value, arrived - started

    def _receive(self, what):
        """Wait for one message; also return the time of its arrival, before it is unpacked."""
        ready = wait([self._pipe, self._process.sentinel], self._timeout_s)
        arrived = time.perf_counter()
        if not ready:
            raise self._failure("hung", f"no reply to {what!r} within {self._timeout_s:g} s")
        # The end of the pipe alone would not do: what the child started may hold it open.
        if not self._pipe.poll():
            raise EOFError
        return self._pipe.recv(), arrived

    def _failure(self, kind, message):
        if kind == "died":
            self._process.join(self._timeout_s)  # the end of a pipe may be seen before that of the process
            message = f"{message} with exit status {self._process.exitcode}"
        self.end()
        return WorkerError(kind, message)

    def end(self) -> None:
        """End the child, and whatever it started."""
        self._pipe.close()
        if self._is_ready:  # before that it leads no group of its own
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
