"""Every comparison is shown wrong implementations, and must reject each of them."""

from functools import lru_cache

import numpy as np
import pytest

from compare.cases.bug import BEHAVIOURS, StaleEdit, rewritten, wrong_gradients
from compare.cases.registry import all_cases
from compare.measure.truth import find_truth
from compare.run.row import judge_config, judge_function
from refimpl.layers.softmax import softmax

PLANTED = [(case.name, bug) for case in all_cases().values() for bug in case.bugs]


@lru_cache(maxsize=8)
def cached_truth(name, config):
    """Hold all bugs of a case against one truth."""
    case = all_cases()[name]
    return find_truth(case, case.config_named(config), "float32", seed=0)


def judged(function, name, config):
    """Judge a variant of a case's reference."""
    truth = cached_truth(name, config.name)
    return judge_function(function, all_cases()[name], config, "float32", truth=truth)


@pytest.mark.parametrize(("name", "bug"), PLANTED, ids=[f"{name}-{bug}" for name, bug in PLANTED])
def test_planted_bug_is_rejected(name, bug):
    case = all_cases()[name]
    for config in case.planted_configs():
        verdict, reason = judged(case.bugs[bug], name, config)
        assert StaleEdit.__name__ not in reason
        if verdict != "PASS":
            return
    pytest.fail(f"{name} lets {bug!r} through")


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("name", all_cases())
def test_misbehaviour_is_rejected(name, behaviour):
    case = all_cases()[name]
    verdict, reason = judged(BEHAVIOURS[behaviour](case.reference), name, case.planted_configs()[0])
    assert verdict != "PASS", f"{name} lets {behaviour!r} through"
    assert reason


@pytest.mark.parametrize("name", all_cases())
def test_every_case_has_planted_bugs(name):
    assert all_cases()[name].bugs


@pytest.mark.parametrize("name", all_cases())
def test_the_reference_itself_passes(name):
    case = all_cases()[name]
    assert judged(case.reference, name, case.planted_configs()[0]) == ("PASS", "")


def test_an_edit_that_no_longer_applies_raises():
    with pytest.raises(StaleEdit, match="must occur once"):
        rewritten(softmax, "text that is not there", "")(np.ones(3))
    with pytest.raises(StaleEdit, match="must be globals"):
        rewritten(softmax, no_such_name=1)(np.ones(3))
    assert "log_softmax" in softmax.__globals__
    with pytest.raises(StaleEdit, match="that softmax reads, got log_softmax"):
        rewritten(softmax, log_softmax=None)(np.ones(3))
    case = all_cases()["softmax"]
    stale = rewritten(softmax, "text that is not there", "")
    assert StaleEdit.__name__ in judge_function(stale, case, case.configs[0], "float32")[1]


def test_an_edit_changes_the_behaviour_and_leaves_the_reference_alone():
    wrong = rewritten(softmax, "(dy - along_weights)", "dy")
    x, dy = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 0.0, 0.0]])
    assert wrong(x)[0].tolist() == softmax(x)[0].tolist()
    assert wrong(x)[1](dy)[0].tolist() != softmax(x)[1](dy)[0].tolist()


def test_wrong_gradients_keep_the_output():
    wrong = wrong_gradients(softmax, lambda gradients: ())
    y, pullback = wrong(np.array([[1.0, 2.0]]))
    assert y.tolist() == softmax(np.array([[1.0, 2.0]]))[0].tolist()
    assert pullback(np.ones((1, 2))) == ()


def test_what_is_only_measured_is_not_judged():
    case = all_cases()["minilm"]
    (row,) = judge_config(case, case.config_named("seq128"), "float32")
    assert row["policy"] == "memory and throughput only"
    assert row["outputs"]["peer"] == row["gradients"]["reference"] == {}
