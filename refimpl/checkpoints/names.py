"""How a family's tensors are named, and the way between their names and ours."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np

from refimpl.checkpoints.errors import shown
from refimpl.checkpoints.name_map import to_ours, to_theirs


@dataclass(frozen=True)
class Names:
    """What Hugging Face calls the tensors of a family.

    Attributes
    ----------
    rows : callable
        ``rows(config) -> list of Row``, those of every head included, their names without prefix.
    required : frozenset of str
        The groups of rows that every model of the family has.
    architectures : dict of (frozenset of str, str)
        By the groups that are there beside the required ones, the class of `transformers` that has exactly these.
    prefix : str
        What stands in front of the backbone's names in a model that has a head, such as ``"bert."``.
    bare : frozenset of str
        The groups that a model without prefix may have beside the required ones, such as the pooler.
    unprefixed : tuple of str
        Beginnings of the names that never have the prefix: those of the heads.
    tied : callable
        ``tied(config) -> dict``: by the second name of an array its first; both without prefix.  A file holds one of
        the two, or both.
    constants : dict of (str, callable)
        By pattern of a name without prefix what makes the constants, ``make(shape) -> array``, that older versions
        saved beside the weights: they are checked and left out.
    computed : callable
        ``computed(config, groups) -> dict``: by name without prefix the constants that today's versions save, too.
    old_endings : dict of (str, str)
        Endings of names in older versions, and what they are now.
    """

    rows: Callable
    required: frozenset
    architectures: Mapping
    prefix: str = ""
    bare: frozenset = frozenset()
    unprefixed: tuple = ()
    tied: Callable = lambda config: {}
    constants: Mapping = field(default_factory=dict)
    computed: Callable = lambda config, groups: {}
    old_endings: Mapping = field(default_factory=dict)

    def groups_of(self, params, config):
        """Find the parts of a model that are there beside the required ones.

        Parameters
        ----------
        params : dict of str to array
            Our parameters.
        config : object
            The sizes.

        Returns
        -------
        frozenset of str
            The groups of rows.
        """
        return frozenset(row.group for row in self.rows(config) if row.ours in params) - self.required

    def architecture(self, params, config, said=()):
        """Find the class of `transformers` that has these parameters.

        Parameters
        ----------
        params : dict of str to array
            Our parameters.
        config : object
            The sizes.
        said : sequence of str, optional
            What config.json says: it decides where several classes have the same parameters, as a model whose head is
            tied has those of the backbone.

        Returns
        -------
        groups : frozenset of str
            The parts of the class beside the required ones, a tied head among them.
        name : str or None
            Its name; None where no class has these parts.
        """
        found = self.groups_of(params, config)
        visible = {row.group for row in self.rows(config)}
        fitting = {groups: name for groups, name in self.architectures.items() if groups & visible == found}
        by_name = {name: groups for groups, name in fitting.items()}
        name = next((name for name in said if name in by_name), None)
        if name is None and fitting:
            name = fitting[max(fitting, key=len)]
        return (by_name[name], name) if name else (found, None)

    def from_hf(self, tensors, config):
        """Turn the tensors of a Hugging Face model into our parameters.

        Parameters
        ----------
        tensors : dict of (str, numpy.ndarray or Stored)
            Its tensors, with or without the prefix.  Those that lie in a file are read one by one, after all names and
            shapes have been found to fit.
        config : object
            The sizes.

        Returns
        -------
        dict of str to numpy.ndarray
            Our parameters; arrays that need no stacking share memory with `tensors`.

        Raises
        ------
        CheckpointError
            If a tensor is missing, unexpected or of another shape, or one that is tied differs from the other; every
            fault is named, up to 20.
        """
        prefix = self.prefix if any(name.startswith(self.prefix) for name in tensors) else ""
        tensors, name_faults = self._modern(tensors)
        tensors, tied_faults = self._untied(tensors, prefix, config)
        tensors, constant_faults = self._without_constants(tensors, prefix)
        faults = name_faults + tied_faults + constant_faults
        return to_ours(tensors, self.filled(config, prefix), required=self.required, faults=faults)

    def to_hf(self, params, config, said=()):
        """Turn our parameters into the tensors of a Hugging Face model, the inverse of `from_hf`.

        Parameters
        ----------
        params : dict of str to array
            Our parameters.
        config : object
            The sizes.
        said : sequence of str, optional
            As for `architecture`.

        Returns
        -------
        dict of str to array
            The tensors, views of `params` where a view can be; with the prefix where there is a head, as Hugging Face
            names them.  What is tied is not repeated.

        Raises
        ------
        CheckpointError
            If a parameter is missing, unexpected or of another shape; every one is named, up to 20.
        """
        groups, _ = self.architecture(params, config, said)
        prefix = self.prefix if groups - self.bare else ""
        tensors = to_theirs(params, self.filled(config, prefix), required=self.required)
        dtype = next(iter(params.values())).dtype
        # By way of float32, in which they are made.
        made = {prefix + name: x.astype(np.float32) for name, x in self.computed(config, groups).items()}
        return tensors | {name: x.astype(dtype) for name, x in made.items()}

    def filled(self, config, prefix):
        """Fill the table with the sizes of a model, and put the prefix in front of the backbone's names.

        Parameters
        ----------
        config : object
            The sizes.
        prefix : str
            The prefix, or nothing.

        Returns
        -------
        list of Row
            One row for each of our parameters, those of every head included.
        """
        return [
            replace(row, theirs=tuple(self.with_prefix(prefix, name) for name in row.theirs))
            for row in self.rows(config)
        ]

    def with_prefix(self, prefix, name):
        """Put the prefix in front of a name, unless it is of a head.

        Parameters
        ----------
        prefix : str
            The prefix, or nothing.
        name : str
            A name without prefix.

        Returns
        -------
        str
            The full name.
        """
        return name if name.startswith(self.unprefixed) else prefix + name

    def _modern(self, tensors):
        renamed, faults = {}, []
        for name, tensor in tensors.items():
            new = self._modern_name(name)
            if new != name and new in tensors:
                faults.append(f"{shown(name)} must not stand beside {shown(new)}, its newer name")
            renamed[new] = tensor
        return renamed, faults

    def _modern_name(self, name):
        for old, new in self.old_endings.items():
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name

    def _untied(self, tensors, prefix, config):
        pairs = {
            self.with_prefix(prefix, second): self.with_prefix(prefix, first)
            for second, first in self.tied(config).items()
        }
        kept, faults = {name: tensor for name, tensor in tensors.items() if name not in pairs}, []
        for second, first in pairs.items():
            if second in tensors and not _same_bits(tensors[second], kept.setdefault(first, tensors[second])):
                faults.append(f"{second} must equal {first}: the configuration ties them")
        return kept, faults

    def _without_constants(self, tensors, prefix):
        kept, faults = {}, []
        for name, tensor in tensors.items():
            make = self.maker(name.removeprefix(prefix))
            if make is None:
                kept[name] = tensor
            elif not _are_constants(np.asarray(tensor), make(tensor.shape)):
                faults.append(f"{name} must hold the constants of {make.__name__}, got {shown(_values(tensor))}")
        return kept, faults

    def maker(self, name):
        """Find what makes a constant.

        Parameters
        ----------
        name : str
            A Hugging Face name without prefix.

        Returns
        -------
        callable or None
            ``make(shape) -> array``; None for a weight.
        """
        return next((make for pattern, make in self.constants.items() if re.fullmatch(pattern, name)), None)


def _same_bits(a, b):
    if a is b:
        return True
    return (a.dtype, a.shape) == (b.dtype, b.shape) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _are_constants(tensor, expected):
    if np.issubdtype(expected.dtype, np.floating) and tensor.dtype.kind in "fV":  # sines, of some other library
        return bool(np.all(np.abs(tensor.astype(np.float64) - expected) <= 4 * ml_dtypes.finfo(tensor.dtype).eps))
    return np.array_equal(tensor, expected)


def _values(tensor):
    return np.asarray(tensor).tolist()


def positions(shape):
    """Count the positions, as the buffer ``position_ids`` does.

    Parameters
    ----------
    shape : tuple of int
        Its shape; the last axis runs over positions.

    Returns
    -------
    numpy.ndarray, shape `shape`
        0, 1, 2, … in every row.
    """
    return np.broadcast_to(np.arange(shape[-1] if shape else 1), shape)
