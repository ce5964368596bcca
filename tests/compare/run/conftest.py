from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def importable_cases(monkeypatch):
    """Children inherit the path, so that they find `hostile_cases` too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
