"""The table of properties is complete, and every test and planted bug that it names exists."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
TABLE = tomllib.loads((HERE / "table.toml").read_text(encoding="utf-8"))["property"]
LEAST = 60
# Tests of what the properties are tested with.
OF_TOOLS = {"test_oracles.py", "test_registry.py", "test_rounding.py", "test_table.py"}
DRAWING = {"properties/test_attention.py::test_drawn_masks_broadcast"}
NAME = re.compile(r"(?P<file>[\w/]+\.py)::(?P<test>test_\w+)(\[(?P<case>.+)\])?")


class MadeUp(ValueError):
    """The table names a test or a bug that is not there."""


@cache
def functions_of(path):
    """Names of the test functions of a file, and for each whether it is parametrised."""
    functions = (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef))
    return {
        function.name: any("parametrize" in ast.unparse(decorator) for decorator in function.decorator_list)
        for function in functions
        if function.name.startswith("test_")
    }


@cache
def words_in(path):
    """Everything that a file names: strings, and names of functions."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    strings = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return strings | {node.id for node in nodes if isinstance(node, ast.Name)}


@cache
def promises_in(path):
    """Keys of the file's PROMISES."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROMISES":
            return {key.value for key in node.value.keys}
    return set()


def found(name):
    """File, test and case of a name in the table, all of which must be there."""
    match = NAME.fullmatch(name)
    path = TESTS / match["file"] if match else None
    if match is None or not path.is_file() or match["test"] not in functions_of(path):
        raise MadeUp(f"there is no test {name}")
    if match["case"] and match["case"] not in words_in(path):
        raise MadeUp(f"{match['file']} names no {match['case']}")
    return path, match["test"], match["case"]


def check_row(row):
    """The test is there, and each bug is planted in a test that is there."""
    found(row["test"])
    if not row["kills"] or not row["planted"]:
        raise MadeUp(f"nothing is planted for {row['test']}")
    planted = [found(name) for name in row["planted"]]
    if all(functions_of(path)[test] and case is None for path, test, case in planted):
        # These tests run over bugs that have names.
        unknown = set(row["kills"]) - set().union(*(words_in(path) for path, _, _ in planted))
        if unknown:
            raise MadeUp(f"not planted in {row['planted']}: {sorted(unknown)}")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["test"].partition("::")[2])
def test_every_row_is_true(row):
    check_row(row)


def test_there_are_enough_and_no_two_are_the_same():
    sentences = [(row["says"], row["on"]) for row in TABLE]
    assert len(set(sentences)) == len(sentences) >= LEAST


def missing_from(table):
    """Property tests, and promises of one test that has many, in no row."""
    listed = {name for row in table for name in [row["test"], *row["planted"]]}
    missing = set()
    for path in sorted(HERE.glob("test_*.py")):
        if path.name in OF_TOOLS or path.name.startswith("test_planted"):
            continue
        names = {f"properties/{path.name}::{test}" for test in functions_of(path)} - DRAWING
        missing |= names - {name.partition("[")[0] for name in listed}
        missing |= {
            f"properties/{path.name}::test_promise_is_kept[{promise}]" for promise in promises_in(path)
        } - listed
    return missing


def test_no_property_is_missing():
    assert not missing_from(TABLE)


@pytest.mark.parametrize(
    "change",
    [
        {"test": "properties/test_bert.py::test_of_nothing"},
        {"test": "properties/test_positions.py::test_promise_is_kept[to be good]"},
        {"planted": []},
        {"planted": ["properties/test_planted.py::test_wrong_behaviour_is_rejected"], "kills": ["moths"]},
    ],
    ids=str,
)
def test_a_row_that_is_made_up_is_refused(change):
    with pytest.raises(MadeUp):
        check_row(TABLE[0] | change)


def test_a_row_left_out_is_missed():
    for kind in ("test_bert.py", "test_promise_is_kept["):
        left_out = next(row for row in TABLE if kind in row["test"])
        assert missing_from([row for row in TABLE if row is not left_out]) == {left_out["test"]}
