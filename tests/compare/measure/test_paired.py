"""The statistics of paired timings, on simulated clocks only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.measure.paired import FEWEST_PAIRS, compare_pairs

N_TRIAL = 300


def simulated(generator, *, ratio=1.0, n_process=2, n_pair=12, noise=0.02, drift=0.3, layout=0.0):
    """Timings of a machine that drifts, stutters, and suits one program or the other by chance.

    Each measurement is the true time, times a drift over the whole run, times log-normal noise, with one
    in ten interrupted for up to half its length. `layout` is the spread of a factor that a process gives
    to one of the programs for good.
    """
    processes = []
    for _ in range(n_process):
        moment = np.arange(2 * n_pair) / (2 * n_pair)
        seconds = 0.02 * np.exp(drift * moment + noise * generator.standard_normal(2 * n_pair))
        seconds *= np.where(generator.random(2 * n_pair) < 0.1, 1 + 0.5 * generator.random(2 * n_pair), 1.0)
        first, second = seconds[::2], seconds[1::2]
        a_leads = np.arange(n_pair) % 2 == 0
        a, b = np.where(a_leads, first, second), np.where(a_leads, second, first)
        a = a * ratio * np.exp(layout * generator.standard_normal())
        processes.append(np.stack([a, b], axis=1))
    return processes


def verdicts(**settings):
    generator = np.random.default_rng(1)
    return [compare_pairs(simulated(generator, **settings)).verdict for _ in range(N_TRIAL)]


@pytest.mark.parametrize("settings", [
    {}, {"noise": 0.1}, {"drift": 2.0}, {"n_pair": 3}, {"n_process": 1}, {"n_process": 3, "n_pair": 30},
    {"n_process": 3, "layout": 0.02},
])
def test_a_program_is_never_faster_or_slower_than_itself(settings):
    assert set(verdicts(**settings)) <= {"equivalent", "inconclusive"}


def test_a_program_is_found_equivalent_to_itself_where_the_clock_allows():
    assert verdicts(n_pair=40, noise=0.01).count("equivalent") > 0.95 * N_TRIAL


def test_ten_percent_is_found_in_both_directions():
    assert set(verdicts(ratio=1.10, n_pair=30)) == {"slower"}
    assert set(verdicts(ratio=1 / 1.10, n_pair=30)) == {"faster"}


def test_ten_percent_is_never_called_equivalent():
    assert "equivalent" not in verdicts(ratio=1.10, n_pair=6, noise=0.05)


def test_blocks_one_after_the_other_would_have_claimed_a_difference():
    """The mistake that pairs avoid: the same drifting clock, read in two blocks."""
    generator = np.random.default_rng(2)
    claims = 0
    for _ in range(N_TRIAL):
        seconds = simulated(generator, n_process=1, n_pair=24)[0].ravel()
        blocks = np.stack([seconds[:24], seconds[24:]], axis=1)
        claims += compare_pairs([blocks]).verdict in ("faster", "slower")
    assert claims > 0.4 * N_TRIAL


@pytest.mark.parametrize("settings", [
    {"n_process": 1, "n_pair": 40}, {"n_process": 2, "n_pair": 12}, {"n_process": 3, "n_pair": 20},
])
def test_the_interval_holds_the_true_ratio(settings):
    """Nominal 95 %. A true coverage of 0.92 gives fewer than 0.87 of 300 with probability below 0.002."""
    generator = np.random.default_rng(3)
    held = 0
    for _ in range(N_TRIAL):
        result = compare_pairs(simulated(generator, ratio=1.25, **settings))
        held += result.ratio_low <= 1.25 <= result.ratio_high
    assert held >= 0.87 * N_TRIAL


def test_a_process_that_suits_one_program_widens_the_interval():
    """Two processes that disagree by 8 % cannot give an interval that leaves one of them out."""
    agree = [np.full((10, 2), [1.0, 1.0]), np.full((10, 2), [1.0, 1.0])]
    differ = [np.full((10, 2), [1.0, 1.0]), np.full((10, 2), [1.08, 1.0])]
    assert compare_pairs(agree).verdict == "equivalent"
    result = compare_pairs(differ)
    assert result.verdict == "inconclusive"
    assert result.ratio_low <= 1.0 and result.ratio_high >= 1.08 * (1 - 2**-50)


def test_too_few_pairs_say_nothing_however_clear_they_look():
    few = [[(2.0, 1.0)] * (FEWEST_PAIRS - 1)]
    result = compare_pairs(few)
    assert (result.verdict, result.ratio_low, result.ratio_high) == ("inconclusive", 2.0, 2.0)
    assert compare_pairs([[(2.0, 1.0)] * FEWEST_PAIRS]).verdict == "slower"


def test_the_same_timings_give_the_same_interval():
    timings = simulated(np.random.default_rng(4))
    assert compare_pairs(timings) == compare_pairs(timings)
    assert compare_pairs(timings, seed=1) != compare_pairs(timings, seed=0)


def test_processes_may_have_different_numbers_of_pairs():
    result = compare_pairs([[(1.0, 2.0)] * 3, [(1.0, 2.0)] * 7, []])
    assert (result.pairs, result.ratio, result.verdict) == (10, 0.5, "faster")


def test_medians_and_quartiles():
    result = compare_pairs([[(float(i), 2.0) for i in range(1, 6)]])
    assert (result.a.q25_s, result.a.median_s, result.a.q75_s) == (2.0, 3.0, 4.0)
    assert (result.b.q25_s, result.b.median_s, result.b.q75_s) == (2.0, 2.0, 2.0)


@given(st.floats(2.0**-10, 2.0**10), st.integers(0, 2**32 - 1))
def test_a_clock_in_other_units_changes_nothing(unit, seed):
    timings = np.random.default_rng(seed).uniform(1, 1.2, size=(1, 8, 2))
    plain, scaled = compare_pairs(timings), compare_pairs(timings * 2.0 ** np.floor(np.log2(unit)))
    assert (plain.ratio, plain.ratio_low, plain.verdict) == (scaled.ratio, scaled.ratio_low, scaled.verdict)


@pytest.mark.parametrize("pairs", [[], [(0.0, 1.0)], [(1.0, -1.0)], [(np.nan, 1.0)], [(1.0, np.inf)]])
def test_bad_timings_are_refused(pairs):
    with pytest.raises(ValueError, match="timings"):
        compare_pairs([pairs])
