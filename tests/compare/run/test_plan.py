from dataclasses import replace

import pytest

from compare.run.catalogue import CaseEntry, Catalogue, ConfigEntry
from compare.run.plan import Request, Unit, left_out, plan, select, unit_key
from compare.run.problem import Problem


def config(name, profile="quick", measured=False, oracles=True):
    return ConfigEntry(name, profile, measured, oracles, {"n": 3}, {})


CASES = [
    CaseEntry(
        "alpha", "layers", "Alpha", (config("small"), config("long", "full"), config("wide", measured=True)),
        ("float64", "float32", "bfloat16"), ("torch",), ("autograd",), 2,
    ),
    CaseEntry("beta", "blocks", "Beta", (config("small", oracles=False),), ("float64",), ("torch", "transformers"),
              ("autograd",), 0),
]  # fmt: skip
CATALOGUE = Catalogue({case.name: case for case in CASES})


def planned(**request):
    request = Request(**request)
    return plan(select(CATALOGUE, request), request)


def named(units, kind="judge"):
    return [(unit.case, unit.config, unit.dtype, unit.peers) for unit in units if unit.kind == kind]


def test_the_quick_profile():
    units = planned()
    assert named(units) == [
        ("alpha", "small", "float64", ("torch", "autograd")),
        ("alpha", "small", "float32", ("torch",)),
        ("alpha", "small", "bfloat16", ("torch",)),
        ("alpha", "wide", "float32", ("torch",)),
        ("beta", "small", "float64", ("torch", "transformers")),
    ]
    assert named(units, "memory") == named(units, "throughput") == [("alpha", "wide", "float32", ("torch",))]


def test_the_full_profile_has_the_quick_one_in_it():
    assert set(planned()) < set(planned(profile="full"))


def test_what_is_timed_comes_last_after_the_roof():
    kinds = [unit.kind for unit in planned()]
    assert kinds == ["judge"] * 5 + ["cost", "memory", "roof", "throughput"]


def test_a_named_configuration_runs_in_any_profile():
    assert {unit.config for unit in planned(configs=("long",))} == {"long"}


def test_a_named_dtype_is_measured_too():
    assert named(planned(dtypes=("float64",)), "throughput") == [("alpha", "wide", "float64", ("torch",))]


def test_oracles_have_nothing_to_say_about_outputs():
    assert ("alpha", "small", "float64", ("torch",)) in named(planned(measure=("outputs",)))


def test_memory_alone_judges_nothing():
    assert [unit.kind for unit in planned(measure=("memory",))] == ["cost", "memory"]


def test_an_oracle_is_not_timed():
    units = planned(peers=("autograd",))
    assert named(units) == [("alpha", "small", "float64", ("autograd",))]
    assert {unit.kind for unit in units} == {"judge"}


@pytest.mark.parametrize(("request_", "message"), [
    ({"cases": ("alhpa",)}, "no case 'alhpa'; did you mean alpha"),
    ({"cases": ("zzz",)}, "no case 'zzz'; there are alpha, beta"),
    ({"cases": ("beta",), "configs": ("wide",)}, "no config 'wide'; there are small"),
    ({"cases": ("beta",), "dtypes": ("float32",)}, "no dtype 'float32'; did you mean float64"),
    ({"peers": ("trch",)}, "no peer 'trch'; did you mean torch"),
    ({"dtypes": ("float32",), "peers": ("autograd",)}, "nothing to compare"),
])  # fmt: skip
def test_what_does_not_exist_is_refused(request_, message):
    with pytest.raises(Problem, match=message):
        planned(**request_)


def test_a_key_depends_on_everything():
    unit = Unit("judge", "alpha", "small", "float32", ("torch",))
    others = [replace(unit, dtype="float64"), replace(unit, peers=("torch", "autograd")), replace(unit, kind="memory")]
    keys = {unit_key(unit, seed=0), unit_key(unit, seed=1), unit_key(unit, seed=0, source="x")}
    keys |= {unit_key(other, seed=0) for other in others}
    assert len(keys) == 6
    assert unit_key(unit, seed=0) == unit_key(replace(unit), seed=0)


def test_a_peer_that_cannot_run_here_is_left_out_and_told():
    lacking = replace(CASES[1], libraries=("torch",), missing={"transformers": "it is not there"})
    catalogue, request = Catalogue({"alpha": CASES[0], "beta": lacking}), Request()
    selected = select(catalogue, request)
    assert named(plan(selected, request))[-1] == ("beta", "small", "float64", ("torch",))
    assert left_out(catalogue.cases.values(), request) == ["not compared with transformers: beta (it is not there)"]
    assert left_out(catalogue.cases.values(), Request(peers=("torch",))) == []
    with pytest.raises(Problem, match=r"nothing to compare: not compared with transformers: beta \(it is not there\)"):
        select(catalogue, Request(peers=("transformers",)))
