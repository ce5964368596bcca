"""Resident size of a fresh process that runs one step."""

import pickle
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from compare.measure.memory import MemoryFigure
from compare.measure.subject import Subject
from compare.measure.worker import Worker


class FreshProcess:
    """Runs one step in a process that has imported nothing but this."""

    def resident_peak(self, pickled_recipe: bytes) -> tuple[int, str]:
        """Build a subject, run one step, and read the largest resident size.

        Parameters
        ----------
        pickled_recipe : bytes
            A callable that returns one subject.

        Returns
        -------
        peak_bytes : int
            Largest resident size since the process began.
        instrument : str
            Where it was read.
        """
        subject = pickle.loads(pickled_recipe)()
        kept = subject.step(subject.fresh())
        peak = _resident_peak()
        del kept
        return peak


def _resident_peak() -> tuple[int, str]:
    status = Path("/proc/self/status")
    # Preferred to getrusage, whose maximum a process inherits from the one that started it.
    lines = status.read_text().splitlines() if status.exists() else []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024, "VmHWM of a fresh process"
    n_byte = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return n_byte if sys.platform == "darwin" else n_byte * 1024, "ru_maxrss of a fresh process"


def footprint(recipe: Callable[[], Subject], *, timeout_s: float = 120.0) -> MemoryFigure:
    """Measure the resident size of a fresh process that runs one step.

    Parameters
    ----------
    recipe : callable
        Picklable; builds one subject. What it imports is part of the figure, so it should import no
        more than that subject's library.
    timeout_s : float
        Longest wait.

    Returns
    -------
    MemoryFigure
        Resident bytes: interpreter, libraries, inputs and everything else. Never to be compared with the
        allocator bytes of `compare.measure.memory.peak_bytes`.
    """
    worker = Worker(FreshProcess, method="spawn", timeout_s=timeout_s)
    try:
        n_byte, instrument = worker.ask("resident_peak", pickle.dumps(recipe))
    finally:
        worker.end()
    return MemoryFigure(
        n_byte, instrument, "counts pages of shared libraries, and whatever a pool holds without using it"
    )
