"""Tensors that lie in a safetensors file and are read when they are wanted."""

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from safetensors import SafetensorError, safe_open

from refimpl.checkpoints.errors import refusal, shown
from refimpl.checkpoints.files.header import read_header
from refimpl.checkpoints.files.open_file import open_checkpoint
from refimpl.checkpoints.files.pickles import pickle_refusal, refuse_pickle

ZIP = b"PK\x03\x04"  # `torch.save` wraps a pickle in a zip archive


@dataclass(frozen=True)
class Stored:
    """One tensor of a file; ``numpy.asarray`` reads it.

    Attributes
    ----------
    file : _File
        Where it lies.
    name : str
        Its name.
    dtype : numpy.dtype
        The dtype that the header declares.
    shape : tuple of int
        The shape that the header declares.
    nbytes : int
        Bytes that it needs.
    """

    file: object
    name: str
    dtype: np.dtype
    shape: tuple
    nbytes: int

    def __array__(self, dtype=None, copy=None):
        tensor = self.file.read(self)
        return tensor if dtype is None else tensor.astype(dtype)


def open_safetensors(path, *, max_bytes):
    """Read and check the header of a safetensors file, and no tensor.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    max_bytes : int
        Most bytes that the tensors together may need.

    Returns
    -------
    dict of (str, Stored)
        The tensors by name, in the order of the header.

    Raises
    ------
    CheckpointError
        If the file cannot be read, is a pickle, or its header is refused.
    """
    if path.suffix == ".npz":
        raise refusal(path, "a safetensors file", "an npz archive, which read_npz reads")
    with open_checkpoint(path) as stream:
        head = stream.peek(16)
        refuse_pickle(path, head)
        if head.startswith(ZIP):
            raise pickle_refusal(path)
        file_bytes = os.fstat(stream.fileno()).st_size
        entries = read_header(stream, path=path, file_bytes=file_bytes, max_bytes=max_bytes)
    file = _File(path)
    return {
        name: Stored(file, name, entry.dtype, entry.shape, entry.end - entry.begin) for name, entry in entries.items()
    }


class _File:
    def __init__(self, path):
        self.path = path

    @cached_property
    def _opened(self):
        # Not mapped into memory: a file that shrinks while it is read would then kill the process.
        return safe_open(self.path, framework="numpy", backend="pread")

    def read(self, stored):
        try:
            tensor = self._opened.get_tensor(stored.name)
        except (SafetensorError, OSError, ValueError) as error:
            raise refusal(self.path, "a file that safetensors reads", shown(str(error))) from error
        declared, read = (stored.dtype, stored.shape), (tensor.dtype, tensor.shape)
        if read != declared:  # the file was exchanged between the two readings
            raise refusal(self.path, f"tensor {shown(stored.name)} still as {declared}", f"{read}")
        check_booleans(stored.name, tensor, path=self.path)
        return tensor


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
