"""Files that appear whole or not at all."""

import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def atomic_files(folder, names):
    """Write files aside, and move them into place only when all of them are complete and on the disk.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files shall be.
    names : sequence of str
        Their names.

    Yields
    ------
    list of pathlib.Path
        Where to write them.

    Notes
    -----
    Each move is atomic.  Several files move one after the other, so a power cut between two moves can leave
    files of different writes beside each other, never half a file.
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
        for file in written:
            os.replace(file, folder / file.name)
