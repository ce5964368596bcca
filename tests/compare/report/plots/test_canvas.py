import re

import pytest

from compare.report.plots.canvas import DARK, LIGHT, sort_dtypes, stylesheet


def test_dtypes_go_from_precise_to_coarse():
    assert sort_dtypes(["int8", "bfloat16", "float32", "float64", "float32"]) == [
        "float64",
        "float32",
        "bfloat16",
        "int8",
    ]


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("palette", "page"), [(LIGHT, "#ffffff"), (DARK, "#0f1318")])
def test_every_colour_stands_out_from_its_page(palette, page):
    for role in ("ink", "muted", "reference", "peer", "limit", "first", "second", "third", "fourth"):
        high, low = sorted((luminance(getattr(palette, role)), luminance(page)), reverse=True)
        # WCAG 2.1, 1.4.11 (graphics) and 1.4.3 (text).
        assert (high + 0.05) / (low + 0.05) >= (4.5 if role in ("ink", "muted", "limit") else 3.0), role


def test_both_themes_define_the_same_variables():
    light, dark = (re.findall(r"--[\w-]+", text) for text in stylesheet().values())
    assert light == dark
