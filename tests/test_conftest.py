"""A failure can be repeated: the command names the test and, where chance decides, its seed."""

import subprocess
import sys
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


SHOW_EXAMPLES = """
import importlib.util, sys
from hypothesis import given, settings, strategies as st
spec = importlib.util.spec_from_file_location("conftest", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
sys.path.insert(0, sys.argv[2])
for name in sys.argv[3:]:
    importlib.import_module(name)

@settings(settings.get_profile("ci"), max_examples=200)
@given(st.integers(0, 2**32 - 1))
def show(seed):
    print(seed)

show()
"""


def test_examples_do_not_depend_on_the_modules_that_are_loaded(conftest, tmp_path):
    (tmp_path / "large.py").write_text(f"LARGE = {list(range(70_001, 80_000, 100))}")
    (tmp_path / "show.py").write_text(SHOW_EXAMPLES)

    def examples(path, *modules):
        command = [sys.executable, tmp_path / "show.py", path, tmp_path, *modules]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert len(examples(conftest.__file__)) == 200
    assert examples(conftest.__file__) == examples(conftest.__file__, "large")
    # Without what the conftest does about it, they would.
    careless = tmp_path / "careless.py"
    careless.write_text(Path(conftest.__file__).read_text().replace("providers._get_local_constants =", "unused ="))
    assert examples(careless) != examples(careless, "large")
