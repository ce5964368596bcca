"""What this machine can do at most, measured, and the share of it that a program reaches."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

SIDE = 768
# Bytes of the triads: inside the caches of one core, then beyond any cache.
CACHE_SETS = (1 << 16, 1 << 18, 1 << 20)
MEMORY_SET = 1 << 26
N_TRIAL = 5
TRIAL_S = 0.004


@dataclass(frozen=True)
class Roof:
    """Measured limits of this machine, at the thread count they were measured with.

    Attributes
    ----------
    matmul_flops_per_s : dict of str to float
        Best rate of a large matrix product for each dtype, by the fastest library at hand.
    bandwidth_bytes_per_s : float
        Best triad rate on arrays too large for the caches.
    cache_bytes_per_s : float
        Best triad rate at any size, the caches included: what no data traffic exceeds.
    """

    matmul_flops_per_s: dict[str, float]
    bandwidth_bytes_per_s: float
    cache_bytes_per_s: float


@dataclass(frozen=True)
class Share:
    """How much of the roof a program reaches.

    Attributes
    ----------
    share : float
        Time that the roof allows at least over the median time taken; about 1 is perfect.
    bound : {"compute", "bandwidth"}
        Which part of the roof is the nearer one.
    above : bool
        True when the program was quicker than the machine can be, beyond its own scatter: something was
        not computed.
    """

    share: float
    bound: str
    above: bool


def measure_roof(dtypes: Iterable[str] = ("float32", "float64")) -> Roof:
    """Measure matrix-product rates and memory bandwidth with the threads that are set now.

    Parameters
    ----------
    dtypes : iterable of str
        Dtypes for the matrix product. 16-bit ones have a rate only where torch is loaded.

    Returns
    -------
    Roof
        Each figure is the best of several trials, since anything slower was disturbed.
    """
    rates = {dtype: matmul_rate((SIDE, SIDE, SIDE), dtype) for dtype in dtypes}
    bandwidth = triad_rate(MEMORY_SET)
    return Roof(
        matmul_flops_per_s={dtype: rate for dtype, rate in rates.items() if rate is not None},
        bandwidth_bytes_per_s=bandwidth,
        cache_bytes_per_s=max(bandwidth, *map(triad_rate, CACHE_SETS)),
    )


def higher(first: Roof, second: Roof) -> Roof:
    """Join two measurements of one machine into the higher roof.

    A roof measured while something else ran is too low. So before a result above the roof is believed, the
    roof is measured once more, and the higher one counts.

    Parameters
    ----------
    first, second : Roof
        Two measurements.

    Returns
    -------
    Roof
        The larger of every figure.
    """
    rates = {
        dtype: max(roof.matmul_flops_per_s.get(dtype, 0.0) for roof in (first, second))
        for dtype in first.matmul_flops_per_s | second.matmul_flops_per_s
    }
    return Roof(
        matmul_flops_per_s=rates,
        bandwidth_bytes_per_s=max(first.bandwidth_bytes_per_s, second.bandwidth_bytes_per_s),
        cache_bytes_per_s=max(first.cache_bytes_per_s, second.cache_bytes_per_s),
    )


def matmul_rate(shape: tuple[int, int, int], dtype: str) -> float | None:
    """Measure the rate of one matrix product, for instance of the shape that a row is about.

    Parameters
    ----------
    shape : tuple of int
        (m, k, n) of an (m, k) by (k, n) product.
    dtype : str
        Name of the dtype.

    Returns
    -------
    float or None
        Floating-point operations per second of the faster of NumPy's BLAS and torch (where it is
        loaded); None when neither multiplies this dtype.
    """
    m, k, n = shape
    products = []
    if dtype in ("float32", "float64"):
        x, y = np.ones((m, k), dtype), np.ones((k, n), dtype)
        products.append(lambda: x @ y)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, dtype):
        kind = getattr(torch, dtype)
        u, v = torch.ones((m, k), dtype=kind), torch.ones((k, n), dtype=kind)
        products.append(lambda: u @ v)
    return max((2.0 * m * k * n / _best_seconds(product) for product in products), default=None)


def triad_rate(n_byte: int) -> float:
    """Measure how fast ``c = a + b`` streams through memory.

    Parameters
    ----------
    n_byte : int
        Size of the three arrays together.

    Returns
    -------
    float
        Bytes read and written per second, by the faster of NumPy (one thread) and torch where loaded.
    """
    n_value = n_byte // 24
    a, b, c = (np.ones(n_value) for _ in range(3))
    passes = [lambda: np.add(a, b, out=c)]
    torch = sys.modules.get("torch")
    if torch is not None:
        u, v, w = (torch.from_numpy(array) for array in (a, b, c))
        passes.append(lambda: torch.add(u, v, out=w))
    return max(24.0 * n_value / _best_seconds(one) for one in passes)


def _best_seconds(work: Callable[[], object]) -> float:
    """Seconds per call in the best of a few trials, each long enough for the clock."""
    work()
    started = time.perf_counter()
    work()
    n_call = max(1, round(TRIAL_S / max(time.perf_counter() - started, 1e-9)))
    best = float("inf")
    for _ in range(N_TRIAL):
        started = time.perf_counter()
        for _ in range(n_call):
            work()
        best = min(best, (time.perf_counter() - started) / n_call)
    return best


def share_of_roof(
    flops: float, n_byte: float, seconds: float, roof: Roof, *, dtype: str, slow_s: float | None = None
) -> Share | None:
    """Place a timing under the roof.

    A result is above the roof only if its slow end is: the upper quartile of the measured times must be
    shorter than the time needed at the best rate ever seen, and data are allowed the speed of the caches.

    Parameters
    ----------
    flops : float
        Operations that every correct program must do. What one may skip (masked blocks) is not among them.
    n_byte : float
        Bytes that must move: inputs read once, outputs written once.
    seconds : float
        Median time.
    roof : Roof
        The limits of this machine.
    dtype : str
        Which matrix-product rate applies.
    slow_s : float, optional
        Upper quartile of the times; the median where it is not given.

    Returns
    -------
    Share or None
        None when the roof has no rate for this dtype.

    Raises
    ------
    ValueError
        When a time is not positive, or nothing is to be done.
    """
    slow_s = seconds if slow_s is None else slow_s
    if not 0 < seconds <= slow_s:
        raise ValueError(f"times must satisfy 0 < seconds <= slow_s, got {seconds} and {slow_s}")
    if flops < 0 or n_byte < 0 or flops + n_byte == 0:
        raise ValueError(f"flops and n_byte must not be negative nor both 0, got {flops} and {n_byte}")
    rate = roof.matmul_flops_per_s.get(dtype)
    if rate is None:
        return None
    compute_s, memory_s = flops / rate, n_byte / roof.bandwidth_bytes_per_s
    fastest_s = max(compute_s, n_byte / roof.cache_bytes_per_s)
    return Share(
        share=max(compute_s, memory_s) / seconds,
        bound="compute" if compute_s >= memory_s else "bandwidth",
        above=slow_s < fastest_s,
    )
