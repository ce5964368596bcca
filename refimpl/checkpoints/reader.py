"""Reading a safetensors file that nobody vouches for."""

import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from refimpl.checkpoints.errors import refusal, shown
from refimpl.checkpoints.header import read_header
from refimpl.checkpoints.pickles import pickle_refusal, refuse_pickle

MAX_BYTES = 8 * 2**30
ZIP = b"PK\x03\x04"  # `torch.save` wraps a pickle in a zip archive


def read_safetensors(path, *, max_bytes=MAX_BYTES):
    """Read every tensor of a safetensors file.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    max_bytes : int
        Most bytes that the tensors together may need; a file that declares more is refused before
        anything is allocated.

    Returns
    -------
    dict of str to numpy.ndarray
        The tensors by name, in the order of the header, writable and bit for bit as stored.  BF16 comes back
        with the dtype ``ml_dtypes.bfloat16``; `refimpl.arrays.narrow` makes of it what the components take.

    Raises
    ------
    CheckpointError
        If the file cannot be read, is a pickle, is truncated or corrupted, declares anything that the layout
        does not allow or that exceeds the limits, or holds a boolean that is neither 0 nor 1.

    References
    ----------
    The layout: https://github.com/huggingface/safetensors#format.

    Notes
    -----
    Limits: a header of 16 MB, 100,000 tensors, 16 axes, and `max_bytes`.  The names of the tensors are keys
    and nothing else, never paths.  Eight-bit and smaller floats are refused.
    """
    path = Path(path)
    if path.suffix == ".npz":
        raise refusal(path, "a safetensors file", "an npz archive, which read_npz reads")
    with open_checkpoint(path) as stream:
        head = stream.peek(16)
        refuse_pickle(path, head)
        if head.startswith(ZIP):
            raise pickle_refusal(path)
        file_bytes = os.fstat(stream.fileno()).st_size
        entries = read_header(stream, path=path, file_bytes=file_bytes, max_bytes=max_bytes)
    tensors = _read_tensors(path, entries)
    for name, tensor in tensors.items():
        check_booleans(name, tensor, path=path)
    return tensors


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


def check_booleans(name, tensor, *, path):
    """Require that booleans are stored as 0 or 1; other bytes mean different things to different readers.

    Parameters
    ----------
    name : str
        The tensor's name, for the message.
    tensor : numpy.ndarray, shape (...)
        The tensor; anything but booleans passes.
    path : str or os.PathLike
        The file, for the message.

    Raises
    ------
    CheckpointError
        If a boolean is stored as another byte.
    """
    if tensor.dtype == np.bool_ and tensor.size:
        largest = int(tensor.view(np.uint8).max())
        if largest > 1:
            raise refusal(path, f"tensor {shown(name)} with booleans 0 or 1", f"the byte {largest}")


def _read_tensors(path, entries):
    try:
        # Not mapped into memory: a file that shrinks while it is read would then kill the process.
        with safe_open(path, framework="numpy", backend="pread") as opened:
            tensors = {name: opened.get_tensor(name) for name in entries}
    except (SafetensorError, OSError, ValueError) as error:
        raise refusal(path, "a file that safetensors reads", shown(str(error))) from error
    for name, entry in entries.items():
        declared, read = (entry.dtype, entry.shape), (tensors[name].dtype, tensors[name].shape)
        if read != declared:  # the file was exchanged between the two readings
            raise refusal(path, f"tensor {shown(name)} still as {declared}", f"{read}")
    return tensors
