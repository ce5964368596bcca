"""The study shows what it says it shows."""

import json
from importlib.resources import files

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from compare.cases import reach_study
from compare.cases.registry import case_named
from compare.run import jobs
from compare.run.plan import Request, Unit


def jacobian_norms(network, seed, distances):
    """Norms by complex step, which shares no code with the pullbacks."""
    generator = np.random.default_rng(seed)
    params = reach_study.fresh_params(generator, reach_study.D_MODEL)
    x = generator.standard_normal((1, reach_study.N_DISTANCE + 1, reach_study.D_MODEL))
    complex_params = {key: value.astype(complex) for key, value in params.items()}
    norms = []
    for k in distances:
        steps = np.zeros((reach_study.D_MODEL, *x.shape[1:]))
        steps[:, reach_study.N_DISTANCE - k] = np.eye(reach_study.D_MODEL)
        y, _ = reach_study.run(network, x + 1e-100j * steps, complex_params)
        norms.append(np.linalg.norm(y[:, -1].imag / 1e-100))
    return norms


@pytest.mark.parametrize("network", reach_study.NETWORKS)
def test_the_reach_is_the_norm_of_the_jacobian(network):
    distances = (0, 1, 7, reach_study.N_DISTANCE)
    got = np.array(reach_study.reach(network, seed=3))[list(distances)]
    want = np.array(jacobian_norms(network, 3, distances))
    # A chain of 65 steps, each of at most 32 terms and a few functions: 65 · 40 roundings.
    assert np.all(np.abs(got - want) <= 65 * 40 * np.finfo(np.float64).eps * want)


def test_recurrence_forgets_and_attention_does_not():
    reach = {network: reach_study.reach(network, seed=0) for network in reach_study.NETWORKS}
    for network in ("rnn", "lstm", "gru"):
        assert reach[network][64] < 1e-10 * reach[network][0]
    assert reach["attention"][64] > 0.1 * reach["attention"][0]
    assert reach["rnn"][64] < reach["lstm"][64]


def test_chains_grow_with_the_length_in_recurrence_alone():
    for network in reach_study.NETWORKS:
        short, long, longer = (reach_study.chain(network, n, seed=0) for n in (4, 8, 16))
        growth = 0 if network == "attention" else long - short
        assert (long - short, longer - long) == (growth, 2 * growth)
        assert (growth > 0) == (network != "attention")


def test_the_study_stands_in_one_row_of_the_report(monkeypatch):
    """In a form that the schema accepts, and that survives being written."""
    monkeypatch.setattr(reach_study, "TIME_LENGTHS", (2, 4))
    rows = [
        row
        for dtype in ("float64", "float32")
        for row in jobs.judge(Unit("judge", "reach", "short", dtype, ("torch",)), Request())
    ]
    assert ["study" in row for row in rows] == [True, False]
    study = json.loads(json.dumps(rows[0]["study"]))
    assert [panel["title"] for panel in study["panels"]] == [
        "Reach of gradients", "Operations one after the other", "Time",
    ]  # fmt: skip
    for panel in study["panels"]:
        assert all(len(values) == len(panel["x"]) for values in panel["lines"].values())
    definitions = json.loads(files("compare.report").joinpath("report.schema.json").read_text())["$defs"]
    schema = Draft202012Validator({"$defs": definitions, "$ref": "#/$defs/study"})
    schema.validate(study)
    assert not schema.is_valid({**study, "panels": [{**study["panels"][0], "x_scale": "cubic"}]})


def test_other_cases_have_no_study():
    assert case_named("reach").study is reach_study.study
    assert case_named("layer_norm").study is None
