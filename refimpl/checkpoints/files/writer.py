"""Writing a safetensors file, whole or not at all."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from refimpl.checkpoints.errors import refusal, shown
from refimpl.checkpoints.files.atomic import atomic_files
from refimpl.checkpoints.files.header import DTYPES, MOST_AXES


def write_safetensors(path, tensors, metadata=None):
    """Write tensors to a safetensors file; a failure leaves what was there before.

    Parameters
    ----------
    path : str or os.PathLike
        The file, replaced if it exists.
    tensors : dict of str to numpy.ndarray
        The tensors by name, in any memory layout and byte order.
    metadata : dict of str to str, optional
        Remarks for the header.  ``{"format": "pt"}`` is what PyTorch and Hugging Face programs look for.

    Raises
    ------
    CheckpointError
        If a name, a dtype or a remark cannot be stored so that `read_safetensors` takes it, or the file
        cannot be written.
    TypeError
        If a tensor is not a NumPy array; device arrays are copied to the host by the caller.
    """
    path = Path(path)
    try:
        with atomic_files(path.parent, [path.name]) as [aside]:
            save_file(storable(tensors, path=path), aside, storable_metadata(metadata, path=path))
    except OSError as error:
        raise refusal(path, "a place that can be written", error.strerror or str(error)) from error


def storable(tensors, *, path):
    """Check tensors and lay them out as the file stores them.

    Parameters
    ----------
    tensors : dict of str to numpy.ndarray
        The tensors by name.
    path : str or os.PathLike
        Where they shall go, for the message.

    Returns
    -------
    dict of str to numpy.ndarray
        The same values, contiguous and little-endian.

    Raises
    ------
    CheckpointError
        If a name or a dtype cannot be stored.
    TypeError
        If a tensor is not a NumPy array.
    """
    return {name: _storable(name, tensor, path) for name, tensor in tensors.items()}


def check_host(name, tensor):
    """Require an array on the host.

    Parameters
    ----------
    name : str
        Its name, for the message.
    tensor : object
        What should be an array of NumPy.

    Raises
    ------
    TypeError
        If it is none; device arrays are copied to the host by the caller.
    """
    if not isinstance(tensor, np.ndarray):
        raise TypeError(f"tensor {shown(name)} must be a NumPy array, got {type(tensor).__name__}")


def storable_metadata(metadata, *, path):
    """Check the remarks for a header.

    Parameters
    ----------
    metadata : dict of str to str or None
        The remarks.
    path : str or os.PathLike
        Where they shall go, for the message.

    Returns
    -------
    dict of str to str or None
        The same.

    Raises
    ------
    CheckpointError
        If a name or a remark is not text.
    """
    for name, remark in (metadata or {}).items():
        if not (_is_text(name) and _is_text(remark)):
            raise refusal(path, "metadata of texts", f"{shown(name)}: {shown(remark)}")
    return metadata


def _storable(name, tensor, path):
    check_host(name, tensor)
    if not _is_text(name) or name == "__metadata__":
        raise refusal(path, "names that are text and not __metadata__", shown(name))
    dtype = tensor.dtype.newbyteorder("<")
    if dtype not in DTYPES.values():
        names = ", ".join(str(known) for known in DTYPES.values())
        raise refusal(path, f"tensor {shown(name)} with a dtype of {names}", str(tensor.dtype))
    if tensor.ndim > MOST_AXES:
        raise refusal(path, f"tensor {shown(name)} with at most {MOST_AXES} axes", f"{tensor.ndim}")
    # safetensors stores the memory behind an array as it lies, whatever its strides.
    return np.asarray(tensor.view(np.ndarray), dtype=dtype, order="C")


def _is_text(value):
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
