"""Moving tensors between two naming schemes by a table, with every fault found reported at once."""

from dataclasses import dataclass

import numpy as np

from refimpl.checkpoints.errors import raise_faults, shown

QKV = 3  # query, key, value


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
        The shape of each of their tensors, as the file has it.
    group : str
        The part of the model it belongs to; a part is there as a whole or not at all.
    transposed : bool
        Whether theirs are (…, d_in, d_out), as the ``Conv1D`` of GPT-2 keeps them; ours are (…, d_out, d_in).
    n_head : int
        Not 0 where query, key and value are fused head by head, as in GPT-NeoX and Bloom: their rows are
        (n_head, 3, d_head), ours (3, n_head, d_head).
    stacked : bool
        Whether each of theirs is one entry along a new first axis of ours, as the experts of a mixture.
    lifted : bool
        Whether theirs has a first axis of length 1 that ours does not have, as ``final_logits_bias`` of Bart.
    """

    ours: str
    theirs: tuple
    shape: tuple
    group: str
    transposed: bool = False
    n_head: int = 0
    stacked: bool = False
    lifted: bool = False

    @property
    def our_shape(self):
        """Turn and stack the shapes of theirs.

        Returns
        -------
        tuple of int
            The shape of our array.
        """
        if self.lifted or not self.shape:
            return self.shape[1:]
        first, *rest = (*self.shape[:-2], *self.shape[:-3:-1]) if self.transposed else self.shape
        return (len(self.theirs), first, *rest) if self.stacked else (len(self.theirs) * first, *rest)

    def join(self, parts):
        """Make our array of their tensors.

        Parameters
        ----------
        parts : sequence of (numpy.ndarray or Stored)
            Theirs, in the order of `theirs`; what lies in a file is read now.

        Returns
        -------
        numpy.ndarray
            Ours; shares memory with a single one of theirs.
        """
        turned = [self._turned(np.asarray(part), (self.n_head, QKV)) for part in parts]
        if self.stacked:
            return np.stack(turned)
        if self.lifted:
            return turned[0][0]
        return np.concatenate(turned) if len(turned) > 1 else turned[0]

    def cut(self, x):
        """Make their tensors of our array: the inverse of `join`.

        Parameters
        ----------
        x : array
            Ours, of any library whose arrays have ``reshape`` and ``swapaxes``.

        Returns
        -------
        list of array
            Theirs, in the order of `theirs`: views where a view can be.
        """
        if self.lifted or not self.shape:
            return [x[None] if self.lifted else x]
        n = x.shape[0] // len(self.theirs)
        parts = [x[i] if self.stacked else x[i * n : (i + 1) * n] for i in range(len(self.theirs))]
        return [self._turned(part, (QKV, self.n_head)) for part in parts]

    def _turned(self, x, rows):
        x = x.swapaxes(-1, -2) if self.transposed else x
        return x.reshape(*rows, -1, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape) if self.n_head else x


def to_ours(tensors, rows, *, required, faults=()):
    """Rename and stack their tensors into our parameters.

    Parameters
    ----------
    tensors : dict of (str, numpy.ndarray or Stored)
        Their tensors; those that lie in a file are read after all faults have been looked for.
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
        differ in dtype, or hold NaN; every one is named, up to 20.
    """
    rows = _present(tensors, rows, lambda row: row.theirs, required)
    shapes = {name: row.shape for row in rows for name in row.theirs}
    faults = [*faults, *_faults(tensors, shapes)]
    faults += [fault for row in rows for fault in _mixed_dtypes(tensors, row)]
    raise_faults("tensors do not fit the configuration", faults)
    params, faults = {}, []
    for row in rows:  # row by row, so that no more than one lies twice in memory
        parts = [np.asarray(tensors[name]) for name in row.theirs]
        faults += _not_numbers(row, parts)
        params[row.ours] = row.join(parts)
    raise_faults("tensors hold no weights", faults)
    return params


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
    return {name: part for row in rows for name, part in zip(row.theirs, row.cut(params[row.ours]), strict=True)}


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


def _not_numbers(row, parts):
    counts = {name: int(np.isnan(part).sum()) for name, part in zip(row.theirs, parts, strict=True)}
    return [f"{name} must hold numbers, got {n} times NaN" for name, n in counts.items() if n]


def _mixed_dtypes(tensors, row):
    dtypes = {name: str(tensors[name].dtype) for name in row.theirs if name in tensors}
    return [f"{', '.join(dtypes)} must share a dtype, got {dtypes}"] if len(set(dtypes.values())) > 1 else []

