"""The header of a safetensors file, checked before a byte of data is read or allocated.

The layout is https://github.com/huggingface/safetensors#format: eight bytes of header length, a JSON header,
then the data without holes.  The `safetensors` library accepts more than the layout says (a name twice,
unknown fields, leading white space); a file must mean one thing to every reader, so this does not.
"""

import struct
from dataclasses import dataclass
from math import prod

import ml_dtypes
import numpy as np

from refimpl.checkpoints.errors import refusal, shown
from refimpl.checkpoints.files.json_text import parse_json

LENGTH = struct.Struct("<Q")  # of the JSON text, in front of it
MOST_HEADER_BYTES = 16 * 2**20
MOST_TENSORS = 100_000
MOST_AXES = 16
FIELDS = ("dtype", "shape", "data_offsets")
DEPTH = 3  # the header, a tensor, its shape

DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "C64": np.dtype(np.complex64),
}


@dataclass(frozen=True)
class Entry:
    """One tensor as the header declares it.

    Attributes
    ----------
    dtype : numpy.dtype
        Of its elements.
    shape : tuple of int
        Its shape.
    begin, end : int
        Its first byte and the byte after its last, counted from the start of the data.
    """

    dtype: np.dtype
    shape: tuple
    begin: int
    end: int


def read_header(stream, *, path, file_bytes, max_bytes):
    """Read and check the header of a safetensors file.

    Parameters
    ----------
    stream : binary file
        At its start.
    path : str or os.PathLike
        Its name, for the message.
    file_bytes : int
        Its length.
    max_bytes : int
        Most bytes that the tensors together may need.

    Returns
    -------
    dict of str to Entry
        Every tensor by name, in file order of the header.

    Raises
    ------
    CheckpointError
        If the header is not exactly as the layout says, or asks for more than the limits.
    """
    text = _read_text(stream, path, file_bytes)
    header = parse_json(text, path=path, max_depth=DEPTH)
    _check_metadata(header.pop("__metadata__", {}), path)
    if len(header) > MOST_TENSORS:
        raise refusal(path, f"at most {MOST_TENSORS} tensors", f"{len(header)}")
    entries = {name: _entry(name, fields, path, max_bytes) for name, fields in header.items()}
    _check_layout(entries, path, data_bytes=file_bytes - LENGTH.size - len(text), max_bytes=max_bytes)
    return entries


def _read_text(stream, path, file_bytes):
    if file_bytes < LENGTH.size:
        raise refusal(path, f"{LENGTH.size} bytes of header length", f"a file of {file_bytes} bytes")
    (n_bytes,) = LENGTH.unpack(stream.read(LENGTH.size))
    if n_bytes > MOST_HEADER_BYTES:
        raise refusal(path, f"a header of at most {MOST_HEADER_BYTES} bytes", f"{n_bytes} bytes")
    if n_bytes > file_bytes - LENGTH.size:
        raise refusal(path, f"a header of {n_bytes} bytes", f"a file cut off after {file_bytes} bytes")
    text = stream.read(n_bytes)
    # The layout pads at the end, with spaces only; anything else could hide a second reading of the file.
    if not (text.startswith(b"{") and text.rstrip(b" ").endswith(b"}")):
        raise refusal(path, "a header from { to }, then only spaces", f"{text[:1]!r} to {text[-1:]!r}")
    return text


def _check_metadata(metadata, path):
    is_text = isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    if not is_text:
        raise refusal(path, "__metadata__ of names and texts", shown(metadata))


def _entry(name, fields, path, max_bytes):
    what = f"tensor {shown(name)}"
    if not isinstance(fields, dict) or set(fields) != set(FIELDS):
        got = shown(sorted(fields) if isinstance(fields, dict) else fields)
        raise refusal(path, f"{what} with exactly the fields {', '.join(FIELDS)}", got)
    dtype, shape, offsets = (fields[field] for field in FIELDS)
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise refusal(path, f"{what} with a dtype of {', '.join(DTYPES)}", shown(dtype))
    if not _are_sizes(shape) or len(shape) > MOST_AXES:
        got = f"{len(shape)} sizes" if _are_sizes(shape) else shown(shape)
        raise refusal(path, f"{what} with a shape of at most {MOST_AXES} sizes of at least 0", got)
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise refusal(path, f"{what} with two data_offsets of at least 0", shown(offsets))
    # Zeros are left out: an empty tensor may not hide sizes whose product no 64-bit integer holds.
    if prod(size or 1 for size in shape) * DTYPES[dtype].itemsize >= 2**63:
        raise refusal(path, f"{what} with a size below 2**63 bytes", f"the shape {shown(shape)} of {dtype}")
    n_bytes = prod(shape) * DTYPES[dtype].itemsize
    if n_bytes > max_bytes:
        raise refusal(path, f"{what} within max_bytes = {max_bytes}", f"{n_bytes} bytes")
    if offsets[1] - offsets[0] != n_bytes:
        raise refusal(path, f"{what} with data_offsets {n_bytes} bytes apart", shown(offsets))
    return Entry(DTYPES[dtype], tuple(shape), *offsets)


def _are_sizes(values):
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_layout(entries, path, *, data_bytes, max_bytes):
    """Require that the tensors fill the data end to end: no overlap, no hole, nothing after the last."""
    position = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != position:
            got = f"{entry.begin}: {'an overlap' if entry.begin < position else 'a hole'}"
            raise refusal(path, f"tensor {shown(name)} to begin at byte {position}", got)
        position = entry.end
    if position > max_bytes:
        raise refusal(path, f"tensors within max_bytes = {max_bytes}", f"{position} bytes")
    if position > data_bytes:
        raise refusal(path, f"{position} bytes of data", f"a file cut off after {data_bytes}")
    if position < data_bytes:
        raise refusal(path, f"{position} bytes of data", f"{data_bytes - position} trailing bytes")
