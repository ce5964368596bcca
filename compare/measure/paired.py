"""What pairs of timings allow one to say: a ratio, its interval, and one of four words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MARGIN = 0.03
N_RESAMPLE = 2000
# With fewer values the sample's whole range holds the median with less than 95 %: 1 - 2 * 0.5**n.
FEWEST_PAIRS = 6


@dataclass(frozen=True)
class Quartiles:
    """Where the middle half of some timings lies, in seconds per call.

    Attributes
    ----------
    median_s, q25_s, q75_s : float
        Median and quartiles.
    """

    median_s: float
    q25_s: float
    q75_s: float


@dataclass(frozen=True)
class Comparison:
    """Two programs compared by paired timings.

    Attributes
    ----------
    a, b : Quartiles
        The timings of each.
    ratio : float
        Time of a over time of b: the median over the pairs.
    ratio_low, ratio_high : float
        The 95 % bootstrap interval of the ratio; with too few pairs for one, the range that was seen.
    verdict : {"faster", "slower", "equivalent", "inconclusive"}
        What a is, against b. "equivalent" when the interval lies within the margin of 3 %, "faster" and
        "slower" when it lies beyond the margin, "inconclusive" otherwise.
    pairs : int
        How many pairs there were.
    """

    a: Quartiles
    b: Quartiles
    ratio: float
    ratio_low: float
    ratio_high: float
    verdict: str
    pairs: int


def compare_pairs(processes: Sequence[Sequence[tuple[float, float]]], *, seed: int = 0) -> Comparison:
    """Compare two programs that were timed in turn in several processes.

    Each pair gives one log-ratio, in which whatever slows the machine for a while cancels. The bootstrap
    draws processes first and pairs within them second, so a process that happens to suit one program
    widens the interval instead of passing for a difference.

    Parameters
    ----------
    processes : sequence of sequences of (float, float)
        For each process its pairs (seconds of a, seconds of b), each per call.
    seed : int
        Seed of the bootstrap: the same timings always give the same interval.

    Returns
    -------
    Comparison
        Medians, quartiles, ratio, interval and verdict.

    Raises
    ------
    ValueError
        When there is no pair, or a time is not a positive finite number.
    """
    per_process = [np.asarray(pairs, dtype=np.float64).reshape(-1, 2) for pairs in processes if len(pairs)]
    if not per_process:
        raise ValueError("processes must hold at least one pair of timings, got none")
    times = np.concatenate(per_process)  # (n_pair, 2)
    if not (np.isfinite(times).all() and (times > 0).all()):
        raise ValueError(f"timings must be positive and finite, got {times.min()} to {times.max()}")

    log_ratios = [np.log(pairs[:, 0] / pairs[:, 1]) for pairs in per_process]
    centre = float(np.median(np.concatenate(log_ratios)))
    low, high = _interval(log_ratios, np.random.default_rng(seed))
    return Comparison(
        a=_quartiles(times[:, 0]), b=_quartiles(times[:, 1]),
        ratio=float(np.exp(centre)), ratio_low=float(np.exp(low)), ratio_high=float(np.exp(high)),
        verdict=_verdict(low, high) if len(times) >= FEWEST_PAIRS else "inconclusive",
        pairs=len(times),
    )


def _quartiles(seconds):
    q25, median, q75 = np.quantile(seconds, [0.25, 0.5, 0.75])
    return Quartiles(median_s=float(median), q25_s=float(q25), q75_s=float(q75))


def _interval(log_ratios, generator):
    counts = np.array([len(values) for values in log_ratios])
    n_process, n_pair = len(counts), int(counts.sum())
    pooled = np.concatenate(log_ratios)
    if n_pair < FEWEST_PAIRS:
        return pooled.min(), pooled.max()
    n_draw = max(1, n_pair // n_process)
    chosen = generator.integers(n_process, size=(N_RESAMPLE, n_process, 1))
    within = np.floor(generator.random((N_RESAMPLE, n_process, n_draw)) * counts[chosen]).astype(int)
    first = np.cumsum(counts) - counts
    resampled = pooled[first[chosen] + within].reshape(N_RESAMPLE, -1)
    return np.quantile(np.median(resampled, axis=1), [0.025, 0.975])


def _verdict(low, high):
    margin = np.log1p(MARGIN)
    if low > margin:
        return "slower"
    if high < -margin:
        return "faster"
    return "equivalent" if -margin < low and high < margin else "inconclusive"
