import json
import math
import os

import numpy as np
import pytest

from compare.report import schema
from compare.report.rounding import round_figures


def put(report, path, value):
    *way, last = path
    for step in way:
        report = report[step]
    report[last] = value


FIGURES = ("cases", 0, "outputs", "reference", "y")

WRONG_VALUES = {
    "version": (
        ("schema",),
        "refimpl-compare/0",
        "report.schema must be 'refimpl-compare/1', got 'refimpl-compare/0'",
    ),
    "cases not a list": (("cases",), {}, "report.cases must be of type array, got {}"),
    "environment not an object": (("environment",), [], "report.environment must be of type object, got []"),
    "wall time negative": (
        ("environment", "seconds", "wall"),
        -1.0,
        "report.environment.seconds.wall must be at least 0",
    ),
    "package version a number": (
        ("environment", "packages", "numpy"),
        2.4,
        "packages.numpy must be of type string",
    ),
    "roof zero": (("environment", "roof", "bandwidth_bytes_per_s"), 0, "must be greater than 0, got 0"),
    "verdict unknown": (("cases", 0, "verdict"), "OK", "report.cases[0].verdict must be one of PASS, WAIVED"),
    "case empty": (("cases", 0, "case"), "", "report.cases[0].case must be a text that is not empty, got ''"),
    "unknown field": (("cases", 0, "tolerance"), 1e-3, "must have no field but case, section"),
    "unknown side": (("cases", 0, "outputs", "torch"), {}, "report.cases[0].outputs must have no field but"),
    "config a name only": (("cases", 0, "config"), "rank3", "report.cases[0].config must be of type object"),
    "passed a number": ((*FIGURES, "passed"), 1, "y.passed must be of type boolean, got 1"),
    "sigma a word": (
        (*FIGURES, "sigma_max"),
        "huge",
        "y.sigma_max must be a number, 'inf', '-inf' or 'nan', got 'huge'",
    ),
    "sigma true": (
        (*FIGURES, "sigma_max"),
        True,
        "y.sigma_max must be of type number or string or null, got True",
    ),
    "shape negative": ((*FIGURES, "shape"), [-1], "y.shape[0] must be at least 0, got -1"),
    "index a number": ((*FIGURES, "worst_index"), 3, "y.worst_index must be of type array or null, got 3"),
    "memory a number": (("cases", 1, "memory"), 12, "report.cases[1].memory must be of type object or null"),
    "time word": (("cases", 3, "throughput", "verdict"), "ok", "throughput.verdict must be one of faster"),
}


@pytest.mark.parametrize(("path", "value", "message"), WRONG_VALUES.values(), ids=WRONG_VALUES)
def test_a_wrong_value_is_named_with_path_expected_and_got(small, path, value, message):
    put(small, path, value)
    with pytest.raises(ValueError) as caught:
        schema.validate(small)
    assert message in str(caught.value)


def every_object(value, path=()):
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from every_object(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:4]):
            yield from every_object(item, (*path, index))


# Where names are free, any of them may be absent.
OPTIONAL = {"policy"}
FREE = {"packages", "sizes", "settings", "outputs", "gradients", "matmul_flops_per_s"}


def test_every_missing_field_is_named(small):
    small["cases"] = small["cases"][2:4]  # one row without measurements, one with
    assert small["cases"][1]["memory"]
    tried = 0
    for path, owner in list(every_object(small)):
        if path and (path[-1] in FREE or path[-2:-1] in (("outputs",), ("gradients",))):
            continue
        for name in set(owner) - OPTIONAL:
            kept = owner.pop(name)
            found = schema.problems(small)
            assert found, (path, name)
            assert name in found[0]
            owner[name] = kept
            tried += 1
    assert tried > 100
    assert schema.problems(small) == []


@pytest.mark.parametrize("value", [None, [], "report", 3])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(ValueError, match="must be of type object"):
        schema.validate(value)


def test_two_rows_that_compare_the_same_are_refused(small):
    small["cases"].append(small["cases"][0])
    with pytest.raises(
        ValueError, match=r"cases\[14\] must differ from cases\[0\], got the same layer_norm / rank3"
    ):
        schema.validate(small)


def test_many_problems_are_counted_not_listed(mixed):
    for row in mixed["cases"]:
        row["verdict"] = "ok"
    with pytest.raises(ValueError, match=r"and 270 more") as caught:
        schema.validate(mixed)
    assert len(str(caught.value).splitlines()) == 12


def test_non_finite_numbers_survive_the_file(tmp_path, mixed):
    figures = mixed["cases"][0]["outputs"]["reference"]["y"]
    figures.update(sigma_max=math.nan, abs_max=math.inf, worst_value=-math.inf)
    schema.write(tmp_path / "report.json", mixed)

    def refuse(name):
        raise AssertionError(name)

    raw = json.loads((tmp_path / "report.json").read_text(), parse_constant=refuse)
    raw = raw["cases"][0]["outputs"]["reference"]["y"]
    assert (raw["sigma_max"], raw["abs_max"], raw["worst_value"]) == ("nan", "inf", "-inf")
    back = schema.read(tmp_path / "report.json")["cases"][0]["outputs"]["reference"]["y"]
    assert math.isnan(back["sigma_max"])
    assert (back["abs_max"], back["worst_value"]) == (math.inf, -math.inf)


def test_a_report_reads_back_as_it_was_written(tmp_path, small):
    written = schema.write(tmp_path / "report.json", small)
    assert schema.read(tmp_path / "report.json") == written
    round_figures(small)
    assert written == small


def test_the_file_has_a_line_for_each_row(tmp_path, small):
    schema.write(tmp_path / "report.json", small)
    lines = (tmp_path / "report.json").read_text().splitlines()
    assert [json.loads(line.removesuffix(",")) for line in lines[3:-1]] == json.loads("".join(lines))["cases"]


def test_text_that_reads_nan_stays_text():
    row = {"reason": "nan", "case": "inf", "sigma_max": "nan", "config": {"settings": {"mode": "inf"}}}
    decoded = schema.decode(row)
    assert (decoded["reason"], decoded["case"], decoded["config"]) == ("nan", "inf", row["config"])
    assert math.isnan(decoded["sigma_max"])


def test_numpy_scalars_and_tuples_become_json():
    values = {
        "a": np.float32(0.5),
        "b": np.int64(3),
        "c": np.bool_(True),
        "d": (1, 2),
        "e": np.longdouble("inf"),
    }
    assert schema.encode(values) == {"a": 0.5, "b": 3, "c": True, "d": [1, 2], "e": "inf"}


def test_what_is_not_json_is_refused_with_the_file_named(tmp_path):
    (tmp_path / "broken.json").write_text('{"schema": ')
    with pytest.raises(ValueError, match=r"broken\.json must be a JSON report, got"):
        schema.read(tmp_path / "broken.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"binary\.json must be a JSON report, got"):
        schema.read(tmp_path / "binary.json")
    (tmp_path / "other.json").write_text('{"schema": "other"}')
    with pytest.raises(ValueError, match=r"other\.json.*must be 'refimpl-compare/1', got 'other'"):
        schema.read(tmp_path / "other.json")


def test_an_invalid_report_is_not_written(tmp_path, small):
    del small["environment"]
    with pytest.raises(ValueError, match="environment"):
        schema.write(tmp_path / "new" / "report.json", small)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, small, monkeypatch, step):
    path = tmp_path / "report.json"
    schema.write(path, small)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    small["environment"]["seed"] = 1
    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match=r"cannot write .*report\.json: No space left on device"):
            schema.write(path, small)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_is_one_clear_error(tmp_path, small):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OSError, match=r"^cannot write .*file/reports/report\.json: Not a directory$"
    ) as caught:
        schema.write(tmp_path / "file" / "reports" / "report.json", small)
    assert caught.value.__cause__ is None


def test_what_is_no_character_is_spelled_out_and_the_report_is_written(small, tmp_path):
    small["cases"][0]["reason"] = "half of a pair: \ud800"
    small["environment"]["packages"] = {"\udcff": "1"}
    schema.write(tmp_path / "report.json", small)
    found = schema.read(tmp_path / "report.json")
    assert found["cases"][0]["reason"] == "half of a pair: \\ud800"
    assert found["environment"]["packages"] == {"\\udcff": "1"}


def test_nesting_without_end_is_no_report(tmp_path):
    (tmp_path / "report.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"report\.json must be a JSON report, got maximum recursion depth"):
        schema.read(tmp_path / "report.json")
