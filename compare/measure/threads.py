"""The same number of threads for every library, and proof that they have it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import threadpoolctl


def thread_counts() -> dict[str, int]:
    """Ask every thread pool in this process how many threads it has.

    Returns
    -------
    dict of str to int
        One entry a pool, ``{"openblas libscipy_openblas64_.so": 2, "torch": 2}``.
    """
    counts = {
        f"{pool['internal_api']} {pool['filepath'].rsplit('/', 1)[-1]}": pool["num_threads"]
        for pool in threadpoolctl.threadpool_info()
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        counts["torch"] = torch.get_num_threads()
    return counts


def check_threads(n_thread: int, counts: dict[str, int]) -> None:
    """Insist that every pool has the wanted number of threads.

    Parameters
    ----------
    n_thread : int
        The number that each pool must have.
    counts : dict of str to int
        What the pools have, from `thread_counts`.

    Raises
    ------
    RuntimeError
        When a pool has another number: timings would compare unequal means.
    """
    wrong = {pool: count for pool, count in counts.items() if count != n_thread}
    if wrong:
        found = ", ".join(f"{pool} has {count}" for pool, count in wrong.items())
        raise RuntimeError(f"every thread pool must have {n_thread} threads, but {found}")


def set_threads(n_thread: int) -> dict[str, int]:
    """Give every thread pool of this process the same number of threads, for good.

    Parameters
    ----------
    n_thread : int
        Threads for each pool, at least 1. Pools of libraries imported later are not reached.

    Returns
    -------
    dict of str to int
        What the pools answer afterwards, already checked.

    Raises
    ------
    ValueError
        When `n_thread` is not a positive integer.
    RuntimeError
        When a pool did not obey.
    """
    if not isinstance(n_thread, int) or n_thread < 1:
        raise ValueError(f"n_thread must be a positive integer, got {n_thread!r}")
    threadpoolctl.threadpool_limits(limits=n_thread)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(n_thread)
    counts = thread_counts()
    check_threads(n_thread, counts)
    return counts


@contextmanager
def limited_threads(n_thread: int) -> Iterator[dict[str, int]]:
    """Limit every thread pool for a while, and restore each to what it had.

    Parameters
    ----------
    n_thread : int
        Threads for each pool, at least 1.

    Yields
    ------
    dict of str to int
        What the pools answer inside, already checked.
    """
    torch = sys.modules.get("torch")
    torch_before = torch.get_num_threads() if torch is not None else None
    pools_before = threadpoolctl.ThreadpoolController()
    with pools_before.limit(limits=None):  # only remembers; leaving it restores
        try:
            yield set_threads(n_thread)
        finally:
            if torch is not None:
                torch.set_num_threads(torch_before)
