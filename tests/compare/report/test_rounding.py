import math
import sys
from decimal import Decimal

import numpy as np
import pytest

from compare.report.rounding import round_figures

UPWARDS = ("sigma_max", "sigma_q999", "ulp_max", "abs_max", "rel_max", "min_tolerance")
VALUES = ("worst_value", "worst_truth")


def rounded(synthetic, dtype="float32", **figures):
    report = {"cases": [synthetic.row()]}
    error = report["cases"][0]["outputs"]["reference"]["y"]
    error.update(figures, dtype=dtype)
    round_figures(report)
    return error


@pytest.mark.parametrize("name", UPWARDS)
def test_errors_and_tolerances_never_get_smaller(synthetic, name):
    for value in np.random.default_rng(0).lognormal(size=200, sigma=20.0).tolist():
        short = rounded(synthetic, **{name: value})[name]
        assert value <= short
        assert len(Decimal(repr(short)).normalize().as_tuple().digits) <= 6
        # One unit of the sixth digit is at most 1e-5 of the number.
        assert Decimal(short) - Decimal(value) <= Decimal(value).scaleb(-5)
        assert rounded(synthetic, **{name: short})[name] == short


def test_what_is_beyond_the_limit_stays_beyond_it(synthetic):
    assert rounded(synthetic, sigma_max=10.0)["sigma_max"] == 10.0
    assert rounded(synthetic, sigma_max=math.nextafter(10.0, 0.0))["sigma_max"] == 10.0
    assert rounded(synthetic, sigma_max=math.nextafter(10.0, 11.0))["sigma_max"] == 10.0001


@pytest.mark.parametrize("name", (*UPWARDS, *VALUES, "cosine"))
@pytest.mark.parametrize("value", [0.0, 0, 123456789123, None, "inf", "-inf", "nan", 2e-16, 5e-324])
def test_zero_integers_and_what_is_not_finite_stay(synthetic, name, value):
    found = rounded(synthetic, **{name: value})[name]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("name", UPWARDS)
def test_the_largest_number_there_is_does_not_become_infinite(synthetic, name):
    assert rounded(synthetic, **{name: sys.float_info.max})[name] == sys.float_info.max


def test_values_of_the_worst_element_can_be_told_apart(synthetic):
    one, next_to_it = (float(x) for x in (np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1.0))))
    short = rounded(synthetic, worst_value=one, worst_truth=next_to_it)
    assert [np.float32(short[name]) for name in VALUES] == [np.float32(one), np.float32(next_to_it)]
    exact = {"worst_value": 0.1, "worst_truth": math.nextafter(0.1, 1.0)}
    assert exact.items() <= rounded(synthetic, dtype="float64", **exact).items()


def test_integers_and_texts_are_not_touched(synthetic):
    before = synthetic.row()["outputs"]["reference"]["y"]
    after = rounded(synthetic)
    for name in ("passed", "reason", "shape", "n", "worst_index", "softened"):
        assert after[name] == before[name]
