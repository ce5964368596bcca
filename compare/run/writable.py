"""Whether what a command will write can be written, asked before its work."""

import os
from contextlib import suppress
from pathlib import Path

from compare.run.problem import Problem


def check_writable(folder, *names):
    """Refuse now what would prevent files from being written after all the work; leave nothing behind.

    Parameters
    ----------
    folder : path-like
        Where they go; it need not exist.
    *names : str
        The files.

    Raises
    ------
    Problem
        If one cannot be written; one sentence.
    """
    made = []
    try:
        for path in (Path(folder, name) for name in names):
            made += [parent for parent in path.parents if not os.path.lexists(parent)]
            if not os.path.lexists(path.parent):
                path.parent.mkdir(parents=True)
            was_there = os.path.lexists(path)
            with path.open("ab"):
                pass
            if not was_there:
                path.unlink()
    except OSError as error:
        raise Problem(f"cannot write {error.filename or folder}: {error.strerror or error}") from None
    finally:
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
