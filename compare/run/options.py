"""What several commands understand in the same way."""

from enum import StrEnum

from compare.cases.case import DTYPES
from compare.run.limits import Limits, share_of_memory
from compare.run.problem import Problem

Dtype = StrEnum("Dtype", [(name, name) for name in DTYPES])


def limits_of(backend, n_worker, seconds, memory_gib):
    """Fix what each unit of work may use.

    Parameters
    ----------
    backend : {"numpy", "cupy"}
        The library that runs our side.
    n_worker : int
        How many units run at once.
    seconds : float
        For each.
    memory_gib : float or None
        For each; by default an equal share of the memory.

    Returns
    -------
    Limits
        The limits.
    """
    if backend == "cupy":
        return Limits(seconds)  # the driver of a GPU maps more than any limit allows
    memory_bytes = share_of_memory(n_worker) if memory_gib is None else int(memory_gib * 2**30)
    return Limits(seconds, memory_bytes)


def check_text(text):
    """Refuse bytes of the command line that are no characters: no tokenizer takes them.

    Parameters
    ----------
    text : str or None
        What the user gave.

    Raises
    ------
    Problem
        If it was not UTF-8.
    """
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise Problem("the text must be UTF-8, got bytes that are no characters") from None


def usable_backend(name):
    """Find the library that runs our side, and see that it can.

    Parameters
    ----------
    name : str or None
        What the user asked for; by default REFIMPL_BACKEND.

    Returns
    -------
    str
        Its name.

    Raises
    ------
    Problem
        If there is no such library, or no device for it.
    """
    from refimpl.arrays.backend import backend, default_backend

    name = name or default_backend()
    try:
        backend(name)
    except (ValueError, RuntimeError) as error:
        raise Problem(error) from None
    return name
