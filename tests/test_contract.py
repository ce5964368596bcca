"""The contract of the components, held on the syntax tree; and every rule shown that it can say no.

What a syntax tree cannot tell (values, dtypes, the kinds of arrays that other components return, whether a gradient
is right) is told by the runs: the strict interpretations, the property tests and the comparison itself.
"""

import os
from pathlib import Path

import pytest

from tests.contract import rules, text_rules
from tests.contract.source import Source, python_files, read
from tests.contract.text_violations import CORRECT_TEXT, TEXT_VIOLATIONS
from tests.contract.violations import VIOLATIONS

ROOT = Path(__file__).parents[1]
SAMPLES = {path.stem: read(path, ROOT) for path in sorted((ROOT / "tests/contract/samples").glob("*.py"))}
ALL_RULES = rules.COMPONENT_RULES + rules.SIZE_RULES

COMPONENT_FOLDERS = {"attention", "blocks", "layers", "models", "positions", "recurrent"}
OTHER_FOLDERS = {
    "arrays": "knows every array library, so that no component needs to",
    "checkpoints": "reads files into NumPy arrays",
    "commands": "talks to a terminal, and reads and writes files",
    "generation": "grows texts token by token, and draws: nothing to differentiate",
    "training": "uses gradients and has none",
}
LONGER_FILES = {
    "compare/interpretations/spread.py": "one array type, with all operators that Python gives it",
    "compare/interpretations/spread_words.py": "a table: the rounding error of each word of the vocabulary",
}
# Data files are no text: what real sentences say is their business.
TEXT_SUFFIXES = {"", ".cfg", ".css", ".ini", ".ipynb", ".j2", ".js", ".md", ".py", ".rst", ".sh", ".toml", ".txt"}
BUILT = {"__pycache__", "_build", "jupyter_execute"}


def component_files():
    return python_files(ROOT, *(f"refimpl/{folder}" for folder in sorted(COMPONENT_FOLDERS)))


@pytest.mark.parametrize("source", component_files(), ids=lambda source: source.name)
def test_component_keeps_the_contract(source):
    assert not [message for _, message in rules.broken(source, rules.COMPONENT_RULES)]


@pytest.mark.parametrize("source", python_files(ROOT, "refimpl", "compare"), ids=lambda source: source.name)
def test_files_and_functions_are_short(source):
    messages = [message for rule, message in rules.broken(source, rules.SIZE_RULES) if rule == "short_functions"]
    too_long = [message for rule, message in rules.broken(source, rules.SIZE_RULES) if rule == "short_file"]
    assert not messages
    assert bool(too_long) == (source.name in LONGER_FILES), too_long or f"{source.name} is short: list it no longer"


def test_every_folder_is_of_components_or_says_why_not():
    folders = {path.name for path in (ROOT / "refimpl").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - COMPONENT_FOLDERS == set(OTHER_FOLDERS)


def test_there_are_components_to_check():
    assert len(component_files()) >= 20


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_correct_sample_breaks_no_rule(sample):
    assert not rules.broken(sample, ALL_RULES)


def test_every_rule_is_shown_a_violation():
    assert list(VIOLATIONS) == [rule.__name__ for rule in ALL_RULES]


PLANTED = [
    pytest.param(rule, *edit, id=f"{rule}-{i}") for rule, edits in VIOLATIONS.items() for i, edit in enumerate(edits)
]


@pytest.mark.parametrize(("rule", "sample", "old", "new"), PLANTED)
def test_rule_catches_its_violation_and_no_other_rule_does(rule, sample, old, new):
    assert SAMPLES[sample].text.count(old) == 1
    edited = Source(f"{sample}.py", SAMPLES[sample].text.replace(old, new))
    found = rules.broken(edited, ALL_RULES)
    assert {name for name, _ in found} == {rule}, found


def test_message_names_file_line_rule_and_reason():
    source = Source("refimpl/layers/bad.py", '"""Bad."""\n\n\ndef bad(x):\n    print(x)\n')
    assert [message for _, message in rules.broken(source, rules.COMPONENT_RULES)] == [
        "refimpl/layers/bad.py:5: [no_side_effects] "
        "A component prints nothing, opens nothing and evaluates no text. Got: print"
    ]


@pytest.mark.parametrize("rule", ALL_RULES + text_rules.RULES, ids=lambda rule: rule.__name__)
def test_every_rule_gives_its_reason_in_one_sentence(rule):
    (sentence,) = (rule.__doc__ or "").strip().splitlines()
    assert sentence.endswith(".")


def texts():
    """Every text of the repository but the rules themselves, which name what they refuse."""
    paths = list(ROOT.iterdir())
    for name in (".ci", "compare", "docs", "refimpl", "tests", "tools"):
        for folder, inner, files in os.walk(ROOT / name):
            # What another worker is building may be gone in the next moment: it is not even looked into.
            inner[:] = set(inner) - BUILT
            paths += [Path(folder, file) for file in files]
    kept = [path for path in paths if path.is_file() and path.suffix in TEXT_SUFFIXES]
    return [read(path, ROOT) for path in sorted(kept) if ROOT / "tests/contract" not in path.parents]


@pytest.mark.parametrize("rule", text_rules.RULES, ids=lambda rule: rule.__name__)
def test_texts_keep_the_rule(rule):
    assert not [message for source in texts() for _, message in rules.broken(source, [rule])]


def test_there_are_texts_to_check():
    assert {"Makefile", "README.md", "pyproject.toml", "refimpl/layers/gelu.py", ".ci/run"} <= {
        source.name for source in texts()
    }


PLANTED_TEXTS = [
    pytest.param(rule, Source(name, text), id=f"{rule}-{i}")
    for rule, examples in TEXT_VIOLATIONS.items()
    for i, (name, text) in enumerate(examples)
]


@pytest.mark.parametrize(("rule", "source"), PLANTED_TEXTS)
def test_text_rule_catches_its_violation_and_no_other_rule_does(rule, source):
    found = rules.broken(source, text_rules.RULES)
    assert {name for name, _ in found} == {rule}, found


@pytest.mark.parametrize(("name", "text"), CORRECT_TEXT)
def test_correct_text_breaks_no_rule(name, text):
    assert not rules.broken(Source(name, text), text_rules.RULES)


def test_every_text_rule_is_shown_a_violation():
    assert list(TEXT_VIOLATIONS) == [rule.__name__ for rule in text_rules.RULES]
