"""The rule must see every kind of wrong tensor, and no right one."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

from compare.interpretations.spread import Spread
from compare.verdict.spread_rule import LIMIT, judge


def truth_of(value, sigma, dtype=np.float32):
    value = np.asarray(value, np.float64)
    return Spread(value, np.broadcast_to(np.square(np.float64(sigma)), value.shape), dtype)


def test_error_is_measured_in_sigma_and_the_worst_element_named():
    truth = truth_of([[1.0, 2.0], [3.0, 4.0]], 0.5)
    figures = judge(np.array([[1.0, 2.5], [3.0, 0.0]], np.float32), truth)
    assert figures["sigma_max"] == 8.0
    assert figures["worst_index"] == [1, 1]
    assert (figures["worst_value"], figures["worst_truth"]) == (0.0, 4.0)
    assert figures["abs_max"] == 4.0
    assert figures["rel_max"] == 1.0
    assert figures["min_tolerance"] == 4.0 / 5.0
    assert figures["passed"] and figures["reason"] == ""


def test_the_limit_is_ten_sigma_inclusive():
    truth = truth_of([0.0], 1.0)
    assert judge(np.array([LIMIT], np.float32), truth)["passed"]
    over = judge(np.array([np.nextafter(np.float32(LIMIT), np.float32(11))]), truth)
    assert not over["passed"]
    assert "element [0]" in over["reason"]


def test_an_exact_truth_allows_no_error_at_all():
    exact = Spread(np.array([0.0, 1.0]), None, np.float32)
    assert judge(np.array([0.0, 1.0], np.float32), exact)["sigma_max"] == 0.0
    assert judge(np.array([1e-45, 1.0], np.float32), exact)["sigma_max"] == math.inf


def test_a_truth_as_rounded_as_the_candidate_doubles_the_variance():
    truth = truth_of([0.0], 1.0)
    twelve = np.array([12.0], np.float32)
    assert not judge(twelve, truth)["passed"]
    assert judge(twelve, truth, rounded_truth=True)["passed"]


@pytest.mark.parametrize(
    ("candidate", "fragment"),
    [
        (None, "missing"),
        ([1.0, 2.0], "expected an array"),
        (np.zeros((2, 1), np.float32), r"expected shape \(2,\)"),
        (np.zeros(3, np.float32), r"expected shape \(2,\)"),
        (np.zeros(2, np.float64), "expected dtype float32"),
        (np.zeros(2, np.int64), "expected dtype float32"),
    ],
)
def test_shape_and_dtype_are_compared_first(candidate, fragment):
    figures = judge(candidate, truth_of([1.0, 2.0], 1e9))
    assert not figures["passed"]
    assert figures["sigma_max"] == math.inf
    assert re.search(fragment, figures["reason"])


@pytest.mark.parametrize("truth_value", [math.inf, -math.inf, math.nan, 1.0])
@pytest.mark.parametrize("got", [math.inf, -math.inf, math.nan, 1.0, 0.0])
def test_non_finite_values_are_compared_as_such(truth_value, got):
    figures = judge(np.array([got], np.float32), truth_of([truth_value], 1e-3))
    same = got == truth_value or (math.isnan(got) and math.isnan(truth_value))
    assert figures["passed"] == same


def test_zero_candidates_do_not_pass_an_infinite_truth():
    assert not judge(np.zeros(4, np.float32), truth_of([math.inf] * 4, 1.0))["passed"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_one_unit_in_the_last_place_is_one_ulp(dtype):
    value = np.asarray([1.5, -3.0, 1e-3], dtype)
    eps = float(ml_dtypes.finfo(dtype).eps)
    exponents = np.array([1.0, 2.0, 2.0**-10])
    next_up = (value.astype(np.float64) + eps * exponents).astype(dtype)
    figures = judge(next_up, truth_of(value.astype(np.float64), 1.0, dtype))
    assert figures["ulp_max"] == 1.0


def test_cosine_tells_direction_even_of_tiny_gradients():
    value = np.array([1e-200, 2e-200])
    figures = judge(-value, truth_of(value, 1e-200, np.float64))
    assert abs(figures["cosine"] + 1.0) <= 4 * np.finfo(np.float64).eps  # four roundings of numbers near 1


def test_empty_tensors_agree():
    figures = judge(np.zeros((0, 3), np.float32), Spread(np.zeros((0, 3)), None, np.float32))
    assert figures["passed"] and figures["n"] == 0


def test_a_tolerance_without_bound_lets_nothing_through():
    truth = truth_of([1.0, 2.0], math.inf)
    assert judge(np.array([1.0, 2.0], np.float32), truth)["passed"]
    assert not judge(np.array([1.0, 2.5], np.float32), truth)["passed"]
