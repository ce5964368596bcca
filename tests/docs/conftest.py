"""The built site, once per session, and a browser that may not reach anything outside it."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = DOCS / "_build" / "html"
sys.path.insert(0, str(DOCS / "_ext"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site; Sphinx rebuilds only what has changed."""
    # Workers of xdist share the parent of their folders: the first one builds, the others wait.
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    done = shared / "site-is-built"
    with open(shared / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            strict = ["-W", "-n", "--keep-going", "-q"]
            command = [sys.executable, "-m", "sphinx", *strict, "-b", "html", str(DOCS), str(SITE)]
            built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            done.write_text("" if built.returncode == 0 else built.stderr[-4000:] or "Sphinx failed")
        failure = done.read_text()
    assert not failure, f"make docs fails:\n{failure}"
    return SITE


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("opening the site needs Chromium: apt-get install chromium chromium-driver")
    from tests.docs.visit import open_browser

    browser = open_browser(chromium, driver, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.quit()
