"""Convert a pickle of arrays into a safetensors file, once.

``python -m refimpl.checkpoints.convert_pickle weights.pkl weights.safetensors --i-trust-this-file``
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np

from refimpl.checkpoints.errors import CheckpointError, refusal
from refimpl.checkpoints.files.trusted_pickle import read_trusted_pickle
from refimpl.checkpoints.files.writer import write_safetensors

RISK = (
    "A pickle is a program that runs when it is read, and can do whatever you can. This command lets it call "
    "nothing but what rebuilds arrays, which is a fence and no proof. If you trust where {path} "
    "came from, say so with --i-trust-this-file."
)


def convert_pickle(source, target):
    """Read a pickle that holds a dict of arrays, and write these as safetensors.

    Parameters
    ----------
    source, target : str or os.PathLike
        The two files.  Calling this says that you trust the first.

    Returns
    -------
    dict of (str, numpy.ndarray)
        What was written.

    Raises
    ------
    CheckpointError
        If the file cannot be read, or holds anything but arrays of numbers by name.
    """
    try:
        digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    except OSError as error:
        raise refusal(source, "a file that can be read", str(error.strerror or error)) from error
    found = read_trusted_pickle(source, sha256=digest)
    is_weights = isinstance(found, dict) and all(
        isinstance(name, str) and isinstance(array, np.ndarray) for name, array in found.items()
    )
    if not is_weights:
        raise refusal(source, "a dict of arrays by name", type(found).__name__)
    write_safetensors(target, found)
    return found


def main(arguments=None):
    """Run the command.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit status: 0, 1 where the file was refused, 2 where it was not trusted.
    """
    parser = argparse.ArgumentParser("python -m refimpl.checkpoints.convert_pickle", description=RISK.split(" This")[0])
    parser.add_argument("source", help="the pickle")
    parser.add_argument("target", help="the safetensors file to write")
    parser.add_argument("--i-trust-this-file", action="store_true", help="a pickle can run any program hidden in it")
    given = parser.parse_args(arguments)
    if not given.i_trust_this_file:
        print(RISK.format(path=given.source), file=sys.stderr)
        return 2
    try:
        weights = convert_pickle(given.source, given.target)
    except (CheckpointError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{given.target}: {len(weights)} arrays")
    return 0


if __name__ == "__main__":
    sys.exit(main())
