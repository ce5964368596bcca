"""Reading a safetensors file that nobody vouches for."""

from pathlib import Path

import numpy as np

from refimpl.checkpoints.files.stored import open_safetensors

MAX_BYTES = 8 * 2**30


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
    return {name: np.asarray(stored) for name, stored in open_safetensors(Path(path), max_bytes=max_bytes).items()}
