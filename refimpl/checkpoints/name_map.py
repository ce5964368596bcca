"""Moving tensors between two naming schemes by a table, with every fault found reported at once."""

from dataclasses import dataclass

import numpy as np

from refimpl.checkpoints.errors import raise_faults, shown


@dataclass(frozen=True)
class Row:
    """One line of a name map.

    Attributes
    ----------
    ours : str
        Our key.
    theirs : tuple of str
        The names whose tensors, one under the other along the first axis, are our array.
    shape : tuple of int
        The shape of each of their tensors.
    group : str
        The part of the model it belongs to; a part is there as a whole or not at all.
    """

    ours: str
    theirs: tuple
    shape: tuple
    group: str

    @property
    def our_shape(self):
        """Stack the shapes of theirs.

        Returns
        -------
        tuple of int
            The shape of our array.
        """
        return (len(self.theirs) * self.shape[0], *self.shape[1:])


def to_ours(tensors, rows, *, required, faults=()):
    """Rename and stack their tensors into our parameters.

    Parameters
    ----------
    tensors : dict of str to numpy.ndarray
        Their tensors.
    rows : sequence of Row
        The table.
    required : set of str
        The groups that must be there; any other is left out when none of its tensors is there.
    faults : sequence of str
        What the caller has found, to be told in the same error.

    Returns
    -------
    dict of str to numpy.ndarray
        Our parameters.  Arrays that need no stacking are shared, not copied.

    Raises
    ------
    CheckpointError
        If tensors are missing, unexpected, of another shape, or not real floats, or tensors to be stacked
        differ in dtype; every one is named, up to 20.
    """
    rows = _present(tensors, rows, lambda row: row.theirs, required)
    shapes = {name: row.shape for row in rows for name in row.theirs}
    faults = [*faults, *_faults(tensors, shapes)]
    faults += [fault for row in rows for fault in _mixed_dtypes(tensors, row)]
    raise_faults("tensors do not fit the configuration", faults)
    return {row.ours: _stack([tensors[name] for name in row.theirs]) for row in rows}


def to_theirs(params, rows, *, required):
    """Split and rename our parameters into their tensors, the inverse of `to_ours`.

    Parameters
    ----------
    params : dict of str to array
        Our parameters.
    rows : sequence of Row
        The table.
    required : set of str
        The groups that must be there.

    Returns
    -------
    dict of str to array
        Their tensors: views of ours, not copies.

    Raises
    ------
    CheckpointError
        If parameters are missing, unexpected, of another shape, or not real floats; every one is named.
    """
    rows = _present(params, rows, lambda row: (row.ours,), required)
    faults = _faults(params, {row.ours: row.our_shape for row in rows})
    raise_faults("parameters do not fit the configuration", faults)
    return split_rows(params, rows)


def split_rows(params, rows):
    """Cut every array of ours into theirs, without a check.

    Parameters
    ----------
    params : dict of str to array
        Our parameters, of any library.
    rows : sequence of Row
        The part of the table whose keys are there.

    Returns
    -------
    dict of str to array
        Their tensors: views of ours.
    """
    return {
        name: params[row.ours][part * row.shape[0] : (part + 1) * row.shape[0]]
        for row in rows
        for part, name in enumerate(row.theirs)
    }


def _present(tensors, rows, names_of, required):
    groups = set(required) | {row.group for row in rows if any(name in tensors for name in names_of(row))}
    return [row for row in rows if row.group in groups]


def _faults(tensors, shapes):
    missing = [f"missing {name} of shape {shape}" for name, shape in shapes.items() if name not in tensors]
    extra = [f"unexpected {shown(name)}" for name in tensors if name not in shapes]
    wrong = [
        fault
        for name, shape in shapes.items()
        if name in tensors
        for fault in (_wrong_shape(name, tensors[name], shape), _wrong_dtype(name, tensors[name]))
        if fault
    ]
    return missing + extra + wrong


def _wrong_shape(name, tensor, shape):
    if tensor.shape == shape:
        return ""
    hint = ", probably transposed" if tensor.shape == shape[::-1] else ""
    return f"{name} must have shape {shape}, got {tensor.shape}{hint}"


def _wrong_dtype(name, tensor):
    # To NumPy bfloat16 is raw bytes (kind V), not a float.
    is_float = tensor.dtype.kind == "f" or tensor.dtype.name == "bfloat16"
    return "" if is_float else f"{name} must hold real floats, got {tensor.dtype}"


def _mixed_dtypes(tensors, row):
    dtypes = {name: str(tensors[name].dtype) for name in row.theirs if name in tensors}
    return [f"{', '.join(dtypes)} must share a dtype, got {dtypes}"] if len(set(dtypes.values())) > 1 else []


def _stack(parts):
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
