from dataclasses import replace
from types import SimpleNamespace

import pytest

from compare.cases import registry
from compare.cases.case import SECTIONS


@pytest.fixture
def add(monkeypatch):
    """Add cases as a module outside the package does, for one test."""
    monkeypatch.setattr(registry, "_plugins", {})

    def added(*cases):
        registry._plugins["mine"] = SimpleNamespace(CASES=cases)
        registry.all_cases.cache_clear()

    yield added
    registry.all_cases.cache_clear()


def test_cases_stand_in_the_order_of_the_sections():
    sections = [case.section for case in registry.all_cases().values()]
    assert list(dict.fromkeys(sections)) == list(SECTIONS)


def test_a_section_that_does_not_exist_is_refused(add):
    add(replace(registry.case_named("softmax"), name="mine", section="mine"))
    with pytest.raises(ValueError, match=r"section of mine must be one of layers, .*, got 'mine'"):
        registry.all_cases()


def test_a_name_that_is_taken_is_refused(add):
    add(registry.case_named("softmax"))
    with pytest.raises(ValueError, match="case names must be unique, got softmax twice"):
        registry.all_cases()
