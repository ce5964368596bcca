"""What several commands understand in the same way."""

from enum import StrEnum

from compare.cases.case import DTYPES
from compare.run.limits import Limits, share_of_memory

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
