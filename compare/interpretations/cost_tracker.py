"""What a computation costs, counted while shape-only arrays flow through it."""

import weakref
from collections import defaultdict
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

_active = ContextVar("trackers", default=())


@dataclass
class Counts:
    """Costs of one word, or of a whole run.

    Attributes
    ----------
    calls : int
        How often it was called, views included.
    flops : int
        Additions, subtractions, multiplications, divisions and negations of floating numbers, so a
        multiply-add is 2.  Comparisons, selections, conversions and integer arithmetic are none.
    transcendentals : int
        Values of exp, log, sqrt, tanh, sin, cos and erf, which are not part of `flops`: what one of them
        costs in flops depends on the machine.
    bytes_moved : int
        Bytes read and written if no operation is fused with another and no cache holds anything.
    """

    calls: int = 0
    flops: int = 0
    transcendentals: int = 0
    bytes_moved: int = 0

    def add(self, flops, transcendentals, bytes_moved):
        """Add one call.

        Parameters
        ----------
        flops, transcendentals, bytes_moved : int
            What the call costs.
        """
        self.calls += 1
        self.flops += flops
        self.transcendentals += transcendentals
        self.bytes_moved += bytes_moved


@dataclass
class Tracker:
    """Costs since the start of `tracking`.

    Attributes
    ----------
    total : Counts
        The sum over all words.
    by_word : dict of str to Counts
        The same by word of the vocabulary; operators under ``add``, ``subtract``, ``multiply``, ``divide``,
        ``negative``, ``compare``, ``logical``, indexing under ``getitem``, conversion under ``astype``.
    live_bytes : int
        Bytes of the buffers made since the start that some array still holds.
    peak_bytes : int
        The largest value `live_bytes` has had: inputs made before the start are not in it.
    """

    total: Counts = field(default_factory=Counts)
    by_word: dict = field(default_factory=lambda: defaultdict(Counts))
    live_bytes: int = 0
    peak_bytes: int = 0

    flops = property(lambda self: self.total.flops)
    transcendentals = property(lambda self: self.total.transcendentals)
    bytes_moved = property(lambda self: self.total.bytes_moved)

    def allocate(self, buffer):
        """Count a buffer until nothing holds it any more.

        Parameters
        ----------
        buffer : Buffer
            A new one.
        """
        self.live_bytes += buffer.nbytes
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        weakref.finalize(buffer, self._free, buffer.nbytes).atexit = False

    def _free(self, nbytes):
        self.live_bytes -= nbytes


class Buffer:
    """Memory that is counted and never allocated; an array and its views hold the same one.

    Parameters
    ----------
    nbytes : int
        Its length.
    """

    def __init__(self, nbytes):
        self.nbytes = nbytes
        for tracker in _active.get():
            tracker.allocate(self)


@contextmanager
def tracking():
    """Count what shape-only arrays cost inside a ``with`` block; blocks may be nested, and each counts all.

    Yields
    ------
    Tracker
        The counts so far.
    """
    tracker = Tracker()
    token = _active.set((*_active.get(), tracker))
    try:
        yield tracker
    finally:
        _active.reset(token)


def record(word, *, flops=0, transcendentals=0, bytes_moved=0):
    """Count one call of a word in every tracker that is active.

    Parameters
    ----------
    word : str
        The word, or the name of an operator.
    flops, transcendentals, bytes_moved : int, optional
        What the call costs.
    """
    for tracker in _active.get():
        for counts in (tracker.total, tracker.by_word[word]):
            counts.add(flops, transcendentals, bytes_moved)
