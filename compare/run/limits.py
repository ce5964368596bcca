"""What a child process may use.  This contains accidents; it is no sandbox for hostile code."""

import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Limits of one unit of work.

    Attributes
    ----------
    seconds : float
        Wall-clock time until it counts as hung.
    memory_bytes : int or None
        Address space beyond what a child has at its start; None for no limit, which drivers of GPUs need.
    file_bytes : int
        Length of any file it writes, its captured output included.
    """

    seconds: float = 300.0
    memory_bytes: int | None = None
    file_bytes: int = 1 << 26


def share_of_memory(n_worker):
    """Find how much memory each of several processes may take.

    Parameters
    ----------
    n_worker : int
        How many run at once.

    Returns
    -------
    int
        Bytes.
    """
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(0.9 * physical / n_worker)


def confine(limits, log):
    """Confine the current process, a child, and send what it prints to a file.

    Parameters
    ----------
    limits : Limits
        What it may use.
    log : path-like
        Takes the place of its standard output and error: a flood must not reach the terminal.
    """
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(sink, stream)
    os.close(sink)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    if limits.memory_bytes is not None:
        _lower(resource.RLIMIT_AS, _address_space() + limits.memory_bytes)


def end_by_itself(seconds):
    """Let the system end this process after a while: should the parent be killed, nobody else ends a child that hangs.

    Parameters
    ----------
    seconds : float
        How long from now.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(seconds) + 10)


def is_out_of_memory(error):
    """Tell whether an exception says that memory ran out.

    Parameters
    ----------
    error : BaseException
        Any exception.

    Returns
    -------
    bool
        True for Python's and NumPy's own, and for what PyTorch and CuPy raise.
    """
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(
        phrase in said for phrase in ("can't allocate memory", "out of memory", "bad_alloc")
    )


def _address_space():
    """Bytes mapped now: PyTorch alone maps gigabytes that it never touches."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def _lower(kind, value):
    _, hard = resource.getrlimit(kind)
    wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (wanted, hard))
