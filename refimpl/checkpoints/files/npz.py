"""Reading an npz archive that nobody vouches for."""

import struct
import tokenize
import zipfile
import zlib
from math import prod
from pathlib import Path

from numpy.lib import format as npy

from refimpl.checkpoints.errors import CheckpointError, refusal, shown
from refimpl.checkpoints.files.header import MOST_AXES, MOST_TENSORS
from refimpl.checkpoints.files.open_file import open_checkpoint
from refimpl.checkpoints.files.pickles import pickle_refusal, refuse_pickle
from refimpl.checkpoints.files.reader import MAX_BYTES
from refimpl.checkpoints.files.stored import check_booleans

KINDS = "biufc"  # booleans and numbers
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what NumPy writes
# What zipfile and NumPy raise at damaged bytes.
BROKEN = (
    ValueError, EOFError, OSError, RuntimeError, NotImplementedError, struct.error, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error,
)


def read_npz(path, *, max_bytes=MAX_BYTES):
    """Read every array of an npz archive, never unpickling.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    max_bytes : int
        Most bytes that the arrays together may need, unpacked.

    Returns
    -------
    dict of str to numpy.ndarray
        The arrays by name.

    Raises
    ------
    CheckpointError
        If the file cannot be read, holds Python objects or anything that is not an array of numbers, a name
        twice, a boolean that is neither 0 nor 1, or more than the limits, or is truncated or corrupted.
    """
    path = Path(path)
    with open_checkpoint(path) as stream:
        refuse_pickle(path, stream.peek(16))
        try:
            with zipfile.ZipFile(stream) as archive:
                members = _members(archive, path, max_bytes)
                return {name: _read(archive, member, path) for name, member in members.items()}
        except CheckpointError:
            raise
        except BROKEN as error:
            raise refusal(path, "an npz archive", f"a damaged file: {error}") from error


def _members(archive, path, max_bytes):
    infos = archive.infolist()
    if any(info.filename.endswith(".pkl") for info in infos):
        raise pickle_refusal(path)
    if len(infos) > MOST_TENSORS:
        raise refusal(path, f"at most {MOST_TENSORS} arrays", f"{len(infos)}")
    n_bytes = sum(info.file_size for info in infos)
    if n_bytes > max_bytes:
        raise refusal(path, f"arrays within max_bytes = {max_bytes}", f"{n_bytes} bytes")
    members = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if name == info.filename:
            raise refusal(path, "members that end in .npy", shown(info.filename))
        if info.compress_type not in COMPRESSIONS:
            raise refusal(path, f"{shown(info.filename)} stored or deflated", f"method {info.compress_type}")
        if name in members:
            raise refusal(path, "every name once", f"{shown(name)} twice")
        members[name] = info
    return members


def _read(archive, member, path):
    what = f"array {shown(member.filename)}"
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        if version not in HEADERS:
            raise refusal(path, f"{what} in npy version 1 or 2", f"{version}")
        shape, _, dtype = HEADERS[version](stream)
        if dtype.kind not in KINDS:
            raise refusal(path, f"{what} of booleans or numbers", f"{dtype}")
        if len(shape) > MOST_AXES or min(shape, default=0) < 0:
            expected = f"{what} with a shape of at most {MOST_AXES} sizes of at least 0"
            raise refusal(path, expected, shown(shape))
        declared, stored = prod(shape) * dtype.itemsize, member.file_size - stream.tell()
        if declared != stored:  # checked before NumPy allocates what the header declares
            raise refusal(path, f"{what} with {declared} bytes for the shape {shown(shape)}", f"{stored}")
    with archive.open(member) as stream:
        array = npy.read_array(stream, allow_pickle=False)
    check_booleans(member.filename, array, path=path)
    return array
