"""One thread, repeatable examples, and a command that repeats whatever fails."""

import os
import secrets
import shlex
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from threadpoolctl import threadpool_limits

# For what is loaded later, such as torch; `one_thread` limits what is loaded already.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]
# One failure is reported, and raised as itself: a planted bug may break a property in several ways.
COMMON = {"report_multiple_bugs": False, "deadline": None, "database": None, "suppress_health_check": UNHURRIED}
settings.register_profile("ci", max_examples=30, derandomize=True, **COMMON)
settings.register_profile("fresh", max_examples=2000, derandomize=False, print_blob=True, **COMMON)
# Hypothesis also tries numbers and words that it finds in our own modules, in those that are loaded by then: which
# examples a test sees would depend on the tests before it, and on whether the clone lies in a folder called "tests".
NOTHING_FOUND = providers.Constants()
providers._get_local_constants = lambda: NOTHING_FOUND
DEFAULT_SEED = 20260101


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=DEFAULT_SEED, help="seed of the `generator` fixture")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    profile = config.getoption("hypothesis_profile") or os.environ.get("HYPOTHESIS_PROFILE") or "ci"
    settings.load_profile(profile)
    if profile == "fresh" and config.getoption("hypothesis_seed") is None:
        # Chosen here, so that a failure can name it; workers of pytest-xdist inherit it.
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture
def generator(request):
    return np.random.default_rng(request.config.getoption("seed"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.sections.append(("repeat", repeat_command(item)))
    return report


def repeat_command(item):
    """Say how to run one test again with the same random numbers."""
    config = item.config
    options = []
    if settings.get_current_profile_name() != "ci":
        options.append(f"--hypothesis-profile={settings.get_current_profile_name()}")
    if config.getoption("hypothesis_seed") is not None:
        options.append(f"--hypothesis-seed={config.getoption('hypothesis_seed')}")
    if config.getoption("seed") != DEFAULT_SEED:
        options.append(f"--seed={config.getoption('seed')}")
    executable = os.path.relpath(sys.executable, config.rootpath)
    return shlex.join([executable, "-m", "pytest", item.nodeid, *options])
