"""Opening a file that nobody vouches for."""

from contextlib import contextmanager

from refimpl.checkpoints.errors import refusal


@contextmanager
def open_checkpoint(path):
    """Open a regular file for reading.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Yields
    ------
    io.BufferedReader
        The open file, until the block ends.

    Raises
    ------
    CheckpointError
        If there is no such file, it is no regular file, it may not be read, or reading it fails.
    """
    try:
        if not path.is_file():  # a pipe or a device would block or never end
            raise refusal(path, "a file", "something else" if path.exists() else "nothing there")
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise refusal(path, "a readable file", error.strerror) from error
