import re

import matplotlib
import pytest

from compare.report.plots import PLOTS, embed
from compare.report.plots.markup import SVG_LIMIT

NAMES = [name for name, *_ in PLOTS]
DRAW = {name: draw for name, _, _, draw in PLOTS}


def words(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


# A study has names of its own.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "studies"])
def test_forty_components_are_all_named_in_a_small_svg(mixed, name):
    svg = embed(name, "what it shows", DRAW[name], mixed)
    assert svg.startswith('<svg role="img" aria-label="what it shows"')
    assert len(svg) < SVG_LIMIT
    shown = " ".join(words(svg))
    for case in {row["case"] for row in mixed["cases"]}:
        assert case in shown, case


@pytest.mark.parametrize("name", NAMES)
def test_an_svg_takes_its_colours_from_the_page_and_nothing_from_the_network(mixed, name):
    svg = embed(name, "", DRAW[name], mixed)
    assert "://" not in svg
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= {"#000000"}  # clip paths have no colour of their own
    assert "var(--plot-ink)" in svg


@pytest.mark.parametrize("name", NAMES)
def test_ids_of_two_plots_do_not_meet(small, name):
    one, two = (
        set(re.findall(r'id="([^"]*)"', embed(prefix, "", DRAW[name], small))) for prefix in ("a", "b")
    )
    assert one
    assert not one & two


@pytest.mark.parametrize("name", NAMES)
def test_a_large_plot_becomes_a_picture_for_each_theme(small, name, monkeypatch):
    monkeypatch.setattr("compare.report.plots.markup.SVG_LIMIT", 100)
    markup = embed(name, 'a "quoted" <text>', DRAW[name], small)
    light, dark = re.findall(r"data:image/png;base64,[\w+/=]+", markup)
    assert light != dark
    assert "&lt;text&gt;" in markup
    assert "<svg" not in markup


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("errors", "compares nothing"),
        ("memory", "measured memory"),
        ("time", "measured time"),
        ("roofline", "both time"),
        ("studies", "has a study"),
    ],
)
def test_a_plot_without_data_says_so(small, name, said):
    (text,) = words(embed(name, "", DRAW[name], {**small, "cases": []}))
    assert said in text


@pytest.mark.parametrize("name", NAMES)
def test_names_are_text_and_never_markup_or_mathematics(synthetic, name):
    svg = embed(name, "<script>", DRAW[name], synthetic.hostile())
    assert "<script" not in svg
    assert "$x_1$" in svg
    assert "\x1b" not in svg


@pytest.mark.parametrize("name", NAMES)
def test_drawing_is_repeatable_and_leaves_no_global_state(mixed, name):
    before = dict(matplotlib.rcParams)
    assert embed(name, "", DRAW[name], mixed) == embed(name, "", DRAW[name], mixed)
    assert dict(matplotlib.rcParams) == before
