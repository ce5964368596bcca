"""Results of a run that is not finished yet: one line a unit, on the disk before the next one starts."""

import fcntl
import json
import os
from pathlib import Path

from compare.run.problem import Problem

NAME = "unfinished.jsonl"


class Journal:
    """An append-only file in the report's folder, locked while a run writes it.

    Parameters
    ----------
    folder : path-like
        The report's folder; made if need be.
    fresh : bool, optional
        Whether to forget what an interrupted run left.

    Raises
    ------
    Problem
        If the folder cannot be written to or another run is using it.
    """

    def __init__(self, folder, *, fresh=False):
        self.path = Path(folder, NAME)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b")
        except OSError as error:
            raise Problem(f"cannot write to the folder {folder}: {error.strerror or error}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise Problem(f"another run is writing to the folder {folder}") from None
        if fresh:
            self._file.truncate(0)
        self.entries = self.read()

    def read(self):
        """Read the whole lines; the last one may be half written, and is cut off.

        Returns
        -------
        dict of (str, dict)
            The results by key.
        """
        self._file.seek(0)
        entries, length = {}, 0
        for line in self._file:
            try:
                entry = json.loads(line) if line.endswith(b"\n") else None
                entries[entry["key"]] = entry
            except (ValueError, TypeError, KeyError):
                break
            length += len(line)
        self._file.truncate(length)
        return entries

    def append(self, key, entry):
        """Add a result, and wait until it is on the disk.

        Parameters
        ----------
        key : str
            The unit's key.
        entry : dict
            What JSON can hold.
        """
        entry = {"key": key, **entry}
        self._file.write(json.dumps(entry, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.entries[key] = entry

    def close(self, *, finished):
        """Let go of the file.

        Parameters
        ----------
        finished : bool
            Whether the report has been written, so that nothing is left to resume.
        """
        if finished or not self.read():
            self.path.unlink(missing_ok=True)
        self._file.close()
