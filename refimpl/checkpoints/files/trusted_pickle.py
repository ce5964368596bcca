"""Reading a pickle that its user vouches for, byte by byte: never by default, and never more than numbers.

A pickle is a program.  This reader lets it call what rebuilds arrays, and refuses everything else; that is a fence and
no proof, so whoever calls it must also name the digest of the one file meant.
"""

import hashlib
import io
import pickle
from pathlib import Path

import numpy as np

from refimpl.checkpoints.errors import CheckpointError, refusal, shown
from refimpl.checkpoints.files.npz import KINDS
from refimpl.checkpoints.files.reader import MAX_BYTES
from refimpl.checkpoints.files.stored import check_booleans


# Old protocols have no bytes: Python writes a call that makes them, of a text or of nothing.
def _encode(text, encoding):
    if encoding != "latin1":
        raise CheckpointError(f"expected bytes as latin1, got {shown(encoding)}")
    return text.encode("latin1")


def _no_bytes():
    return b""


_REBUILD = np.zeros(0).__reduce__()[0]
_FROM_BUFFER = np.zeros(1).__reduce_ex__(5)[0]
# What rebuilds arrays, under the names of NumPy 1 and 2.
ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _REBUILD,
    ("numpy._core.multiarray", "_reconstruct"): _REBUILD,
    ("numpy.core.numeric", "_frombuffer"): _FROM_BUFFER,
    ("numpy._core.numeric", "_frombuffer"): _FROM_BUFFER,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
}
# What a damaged or hostile pickle makes the unpickler and NumPy raise.
BROKEN = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError, ImportError,
    MemoryError, OverflowError, RecursionError, UnicodeDecodeError,
)  # fmt: skip


def read_trusted_pickle(path, *, sha256, max_bytes=MAX_BYTES):
    """Read a pickle of numbers, texts, lists, dicts and NumPy arrays, if it is the file that the caller means.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    sha256 : str
        The digest of the file that is trusted, in hexadecimal digits.
    max_bytes : int, optional
        Most bytes that the file may have.

    Returns
    -------
    object
        What it holds.

    Raises
    ------
    CheckpointError
        If the file is another, is too large, is damaged, or wants to call anything but what rebuilds arrays of numbers.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as error:
        raise refusal(path, "a file that can be read", str(error.strerror or error)) from error
    if len(content) > max_bytes:
        raise refusal(path, f"at most max_bytes = {max_bytes} bytes", "more")
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256.lower():
        raise refusal(path, f"the trusted file, of SHA-256 {sha256}", f"one of SHA-256 {digest}")
    try:
        found = _NumbersOnly(io.BytesIO(content)).load()
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except BROKEN as error:
        raise refusal(path, "a pickle", f"a damaged one: {type(error).__name__}: {shown(str(error))}") from error
    _check(path, found)
    return found


class _NumbersOnly(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            called = shown(f"{module}.{name}")
            raise CheckpointError(f"expected a pickle of arrays and plain values, got one that calls {called}")
        return ALLOWED[module, name]

    def persistent_load(self, pid):
        raise CheckpointError(f"expected a pickle that is whole, got one that refers to {shown(pid)}")


def _check(path, found):
    # A list may hold itself, or one list many times: each object is looked at once.
    pending, seen = [found], set()
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            if item.dtype.kind not in KINDS:
                raise refusal(path, "arrays of booleans or numbers", f"dtype {item.dtype}")
            check_booleans("an array", item, path=path)
        elif isinstance(item, dict):
            pending.extend((*item.keys(), *item.values()))
        elif isinstance(item, list | tuple | set | frozenset):
            pending.extend(item)
        elif not isinstance(item, str | bytes | int | float | complex | bool | None):
            raise refusal(path, "numbers, texts, lists, dicts and arrays", type(item).__name__)
