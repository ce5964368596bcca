"""Files that appear whole or not at all."""

import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def atomic_files(folder, names, *, doors=(), stale=()):
    """Write files aside, and move them into place only when all of them are complete and on the disk.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files shall be.
    names : sequence of str
        Their names.
    doors : sequence of str, optional
        The files without which no reader finds the others, old or new: the first to go and the last to come, so that
        not even a power cut leaves a mixture of two checkpoints that a reader takes for one.
    stale : sequence of str, optional
        Files to be removed with the same care.

    Yields
    ------
    list of pathlib.Path
        Where to write them.

    Notes
    -----
    Each move is atomic.  A failure between two moves brings back what was there before; Ctrl-C waits for the last of
    them.  A power cut between two moves
    leaves the folder without a door, and both versions complete, one of them in a folder ``.partial-…``.
    """
    with TemporaryDirectory(dir=folder, prefix=".partial-") as aside:
        written = [Path(aside, name) for name in names]
        yield written
        probe = Path(aside, ".mode")
        probe.touch()  # has the permissions that a new file of this user gets; safetensors makes private ones
        for file in written:
            file.chmod(probe.stat().st_mode)
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
        if doors:
            with _uninterrupted():
                _exchange(folder, names, doors, stale, Path(aside))
        else:
            for file in written:
                os.replace(file, folder / file.name)
        _sync(folder)


def _exchange(folder, names, doors, stale, aside):
    old = Path(aside, "old")
    old.mkdir()
    leaving = [name for name in dict.fromkeys((*doors, *stale, *names)) if os.path.lexists(folder / name)]
    moves = [(folder / name, old / name) for name in leaving]
    moves += [(aside / name, folder / name) for name in sorted(names, key=lambda name: name in doors)]
    done = []
    try:
        for source, target in moves:
            os.replace(source, target)
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            os.replace(target, source)
        raise


@contextmanager
def _uninterrupted():
    """Let Ctrl-C wait."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came = []
    signal.signal(signal.SIGINT, lambda *args: came.append(args))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came:
        handler(*came[0])


def _sync(folder):
    # A move is on the disk when its folder is; not every system can open one.
    if not hasattr(os, "O_DIRECTORY"):
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
