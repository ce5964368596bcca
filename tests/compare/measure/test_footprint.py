"""Resident size of a fresh process, seen to grow with what it holds."""

import pytest

from compare.measure.footprint import footprint
from compare.measure.worker import WorkerError
from tests.compare.measure import subjects


def test_ballast_shows():
    """64 MiB more is seen; half of that is left to the system, which places pages as it likes."""
    plain, heavy = footprint(subjects.one_numpy), footprint(subjects.ballast)
    assert heavy.peak_bytes - plain.peak_bytes >= 32 * 2**20
    assert "fresh process" in plain.instrument and "shared libraries" in plain.blind_spots


def test_a_failure_in_the_process_is_reported():
    with pytest.raises(WorkerError, match="ArithmeticError"):
        footprint(subjects.one_raising)
