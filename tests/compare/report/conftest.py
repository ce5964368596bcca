"""Hands the made-up reports to the tests, wherever pytest was started."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def synthetic():
    spec = spec_from_file_location("synthetic_reports", Path(__file__).with_name("synthetic.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def small(synthetic):
    return synthetic.small()


@pytest.fixture
def mixed(synthetic):
    return synthetic.mixed()
