import math

import pytest

from compare.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "–"), (0.0, "0"), (0.04, "0.0"), (2.13, "2.1"), (8500.2, "8500"), (3.2e7, "3.2e+07")),
        *((math.inf, "inf"), (math.nan, "nan")),
    ],
)
def test_sigmas(value, text):
    assert words.sigmas(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (1.8, "1.80×"), (0.004, "0.004×"), (250.0, "250×"), (1e6, "1e+06×")],
)
def test_ratio(value, text):
    assert words.ratio(value) == text


@pytest.mark.parametrize("value", [1.2345e-7, 9.91e-8, 2e-16, 0.999, 1.0, 3.14159, 1e300])
def test_a_tolerance_shown_would_itself_pass(value):
    shown = float(words.tolerance(value))
    # Two digits: at most a tenth above.
    assert value <= shown <= 1.1 * value


def test_special_tolerances():
    assert [words.tolerance(value) for value in (None, 0.0, math.inf, math.nan)] == ["–", "0", "inf", "nan"]


@pytest.mark.parametrize(
    ("value", "unit", "base", "text"),
    [
        (None, "B", 1024, "–"),
        (12, "B", 1024, "12 B"),
        (1536, "B", 1024, "1.5 KiB"),
        (1.1e11, "FLOP/s", 1000, "110 GFLOP/s"),
    ],
)
def test_scaled(value, unit, base, text):
    assert words.scaled(value, unit, base) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (120.3, "2 min 0 s"), (0.0021, "2.1 ms"), (3e-6, "3 µs"), (0.0, "0 s")],
)
def test_seconds(value, text):
    assert words.seconds(value) == text


def test_ratios_of_two_and_a_half_balance():
    assert words.ratio(words.median_ratio([2.0, 0.5])) == "1.00×"
    assert words.ratio(words.median_ratio([math.inf, 0.0, 3.0])) == "3.00×"
    assert words.median_ratio([]) is None


def test_control_characters_never_reach_a_terminal():
    assert words.printable("a\x1b[31m\nb\u202ec") == "a [31m b c"
