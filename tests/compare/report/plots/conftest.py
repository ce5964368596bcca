"""Draws for the tests as a page would."""

import pytest

from compare.report.plots.canvas import LIGHT, settings


@pytest.fixture
def drawn():
    def draw_light(draw, report):
        with settings():
            return draw(report, LIGHT)

    return draw_light


@pytest.fixture
def points():
    def read(axes, markers):
        drawn = [line for line in axes.lines if line.get_marker() in markers and len(line.get_xdata())]
        return [
            (float(x), float(y)) for line in drawn for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        ]

    return read
