"""The study of how attention grows with the length shows what it says: linear where it should be, and only there."""

import json
import math

import pytest

from compare.cases import scaling_study
from compare.cases.registry import case_named
from compare.cases.scaling_study import LENGTHS

QUADRATIC_AND_LINEAR = {
    "tiled_attention": ("all scores", "tiles"),
    "sliding_window_attention": ("masked", "blocks"),
    "longformer_attention": ("reach = length", f"reach {scaling_study.REACH}"),
}


@pytest.fixture(scope="module")
def studies():
    return {name: case_named(name).study(0) for name in QUADRATIC_AND_LINEAR}


def growth(values):
    """By how much the last doubling of the length multiplies."""
    return values[-1] / values[-2]


@pytest.mark.parametrize("name", QUADRATIC_AND_LINEAR)
def test_memory_is_linear_beside_a_quadratic_one(studies, name):
    quadratic, linear = QUADRATIC_AND_LINEAR[name]
    memory = studies[name]["panels"][0]["lines"]
    for kind in ("measured", "analytic"):
        assert growth(memory[f"{linear}, {kind}"]) < 2.1
        assert growth(memory[f"{quadratic}, {kind}"]) > 3.5


@pytest.mark.parametrize("name", QUADRATIC_AND_LINEAR)
def test_the_linear_one_needs_what_shape_only_arrays_predict(studies, name):
    _, linear = QUADRATIC_AND_LINEAR[name]
    memory = studies[name]["panels"][0]["lines"]
    for measured, analytic in zip(memory[f"{linear}, measured"], memory[f"{linear}, analytic"], strict=True):
        assert 0.9 < measured / analytic < 1.1  # NumPy reuses some temporaries; Python's objects take a little


def test_the_work_of_bands_is_linear_and_that_of_tiles_is_not(studies):
    work = {name: study["panels"][1]["lines"] for name, study in studies.items()}
    assert 1.9 < growth(work["sliding_window_attention"]["blocks"]) <= 2.0
    assert 1.9 < growth(work["longformer_attention"][f"reach {scaling_study.REACH}"]) <= 2.0
    assert growth(work["tiled_attention"]["tiles"]) > 3.5


def test_a_study_has_the_form_of_the_report(studies):
    for study in studies.values():
        assert set(study) == {"title", "text", "panels"}
        json.dumps(study, allow_nan=False)
        for panel in study["panels"]:
            assert panel["x"] == list(LENGTHS)
            assert all(len(line) == len(LENGTHS) and all(map(math.isfinite, line)) for line in panel["lines"].values())


def test_work_that_grows_otherwise_is_noticed():
    assert growth([1.0, 2.0, 8.0]) == 4.0
