"""The roof, and results that claim to be above it."""

import numpy as np
import pytest

from compare.measure.roof import Roof, Share, higher, matmul_rate, measure_roof, share_of_roof, triad_rate

ROOF = Roof({"float32": 1e11, "float64": 5e10}, bandwidth_bytes_per_s=1e10, cache_bytes_per_s=4e10)


def test_the_roof_has_every_figure():
    roof = measure_roof()
    assert set(roof.matmul_flops_per_s) == {"float32", "float64"}
    assert 0 < roof.bandwidth_bytes_per_s <= roof.cache_bytes_per_s < np.inf
    assert all(0 < rate < np.inf for rate in roof.matmul_flops_per_s.values())


def test_rates_of_other_shapes_and_dtypes():
    assert matmul_rate((3, 64, 5), "float64") > 0
    assert matmul_rate((8, 8, 8), "longdouble") is None
    assert triad_rate(1 << 12) > 0


def test_the_nearer_part_of_the_roof_bounds():
    assert share_of_roof(1e9, 1e6, 0.02, ROOF, dtype="float32") == Share(0.5, "compute", above=False)
    assert share_of_roof(1e9, 1e6, 0.02, ROOF, dtype="float64") == Share(1.0, "compute", above=False)
    assert share_of_roof(1e6, 1e8, 0.02, ROOF, dtype="float32") == Share(0.5, "bandwidth", above=False)
    assert share_of_roof(1e6, 1e6, 1.0, ROOF, dtype="longdouble") is None


def test_skipped_computation_is_above_the_roof():
    """1 GFLOP needs 10 ms here; 8 ms is impossible."""
    assert share_of_roof(1e9, 0, 0.008, ROOF, dtype="float32", slow_s=0.009).above


def test_a_slow_end_below_the_roof_is_no_accusation():
    assert not share_of_roof(1e9, 0, 0.008, ROOF, dtype="float32", slow_s=0.011).above


def test_data_may_come_from_the_caches_but_not_faster():
    """100 MB take 10 ms from memory and 2.5 ms from the caches."""
    cached = share_of_roof(0, 1e8, 0.005, ROOF, dtype="float32")
    assert cached.share == 2.0 and not cached.above
    assert share_of_roof(0, 1e8, 0.002, ROOF, dtype="float32").above


def test_the_higher_roof_counts():
    other = Roof({"float32": 2e11, "bfloat16": 1e12}, bandwidth_bytes_per_s=5e9, cache_bytes_per_s=8e10)
    rates = {"float32": 2e11, "float64": 5e10, "bfloat16": 1e12}
    both = Roof(rates, bandwidth_bytes_per_s=1e10, cache_bytes_per_s=8e10)
    assert higher(ROOF, other) == higher(other, ROOF) == both


@pytest.mark.parametrize(("flops", "n_byte", "seconds", "slow_s"), [
    (1, 1, 0.0, 1.0), (1, 1, -1.0, 1.0), (1, 1, 2.0, 1.0), (0, 0, 1.0, 1.0), (-1, 1, 1.0, 1.0),
    (1, 1, float("nan"), 1.0),
])
def test_bad_numbers_are_refused(flops, n_byte, seconds, slow_s):
    with pytest.raises(ValueError, match="must"):
        share_of_roof(flops, n_byte, seconds, ROOF, dtype="float32", slow_s=slow_s)
