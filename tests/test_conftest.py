"""A failure can be repeated: the command names the test and, where chance decides, its seed."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings


@pytest.fixture
def conftest(request):
    path = str(Path(__file__).with_name("conftest.py"))
    plugins = request.config.pluginmanager.get_plugins()
    return next(plugin for plugin in plugins if getattr(plugin, "__file__", None) == path)


def test_the_command_names_the_test(request, conftest):
    command = conftest.repeat_command(request.node)
    assert "-m pytest tests/test_conftest.py::test_the_command_names_the_test" in command


def test_the_command_names_the_seed(request, conftest, monkeypatch):
    monkeypatch.setattr(request.config.option, "seed", 5)
    monkeypatch.setattr(request.config.option, "hypothesis_seed", "17")
    command = conftest.repeat_command(request.node)
    assert command.endswith("--hypothesis-seed=17 --seed=5")


def test_the_generator_starts_anew_in_every_test(generator, request):
    want = np.random.default_rng(request.config.getoption("seed")).random(3)
    np.testing.assert_array_equal(generator.random(3), want)


def test_profiles():
    ci, fresh = settings.get_profile("ci"), settings.get_profile("fresh")
    assert (ci.derandomize, ci.deadline, ci.max_examples) == (True, None, 30)
    assert (fresh.derandomize, fresh.deadline, fresh.max_examples) == (False, None, 2000)
