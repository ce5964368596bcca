import math
import re
from html.parser import HTMLParser

import pytest

from compare.report import html
from compare.report.summary import worst_element

VOID = {"meta", "link", "input", "br", "img", "source"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


@pytest.fixture(params=["small", "mixed", "hostile"])
def page(request, synthetic):
    return Page(html.render(getattr(synthetic, request.param)()))


def test_the_page_asks_for_nothing_from_outside(page):
    fetching = {"src", "href", "xlink:href", "srcset", "action", "poster", "data", "background", "formaction"}
    for tag, name, value in page.attributes:
        if name in fetching:
            assert value.startswith(("#", "data:")), (tag, name, value)
        assert "http://" not in (value or ""), (tag, name, value)
        assert "https://" not in (value or ""), (tag, name, value)
    assert not {"iframe", "object", "embed", "base"} & set(page.tags)
    assert re.findall(r"@import|https?:|url\(", page.text["style"]) == []
    assert re.findall(r"https?:|fetch\(|XMLHttpRequest|import\(", page.text["script"]) == []


def test_nothing_a_report_holds_becomes_markup(synthetic):
    report = synthetic.hostile()
    text = html.render(report)
    page = Page(text)
    assert page.tags.count("script") == 1
    assert "alert" not in page.text["script"]
    assert "<script>alert" not in text
    assert "49" not in page.text["h1"]
    assert not any(name.startswith("on") for _, name, _ in page.attributes)
    assert "<script>alert('x')</script>" in page.text["a"]
    # One number an id, never a name.
    assert all(re.fullmatch(r"[\w.-]+", value) for _, name, value in page.attributes if name == "id")


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {
        value[1:] for _, name, value in page.attributes if name in ("href", "xlink:href") and value[0] == "#"
    }
    assert links <= set(ids)
    used = {name for _, _, value in page.attributes for name in re.findall(r"url\(#([^)]*)\)", value or "")}
    assert used <= set(ids)


def test_the_heading_says_whether_all_is_well(synthetic):
    assert "All 14 comparisons pass" in Page(html.render(synthetic.small())).text["h1"]
    assert "8 of 280 comparisons did not pass" in Page(html.render(synthetic.mixed())).text["h1"]
    assert "Nothing was compared" in Page(html.render({**synthetic.small(), "cases": []})).text["h1"]


@pytest.mark.parametrize("verdict", ["WAIVED", "INCONCLUSIVE"])
def test_one_row_that_did_not_pass_spoils_the_heading(small, verdict):
    small["cases"][3]["verdict"] = verdict
    text = html.render(small)
    assert "1 of 14 comparisons did not pass" in text
    assert 'class="top bad"' in text


def test_every_row_is_there_with_its_figures_and_command(mixed):
    text = html.render(mixed)
    for number, row in enumerate(mixed["cases"]):
        assert f'id="row-{number}"' in text
        assert row["repeat"] in text
    figures = worst_element(mixed["cases"][0])[3]
    for shown in (f"{figures['ulp_max']:.3g}", f"{figures['abs_max']:.3g}", f"{figures['worst_truth']:.7g}"):
        assert f">{shown}<" in text


def tensors_of(text):
    (body,) = re.findall(r'<table class="figures">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    return re.findall(r"<th>(.*?)</th>", body)


def test_of_many_tensors_the_worst_are_shown_and_the_rest_is_counted(synthetic):
    row = synthetic.row()
    template = row["outputs"]["reference"]["y"]
    row["gradients"] = {}
    row["outputs"] = {"reference": {f"t{k}": {**template, "sigma_max": k / 4} for k in range(9)}}
    report = {**synthetic.small(), "cases": [row]}
    assert tensors_of(html.render(report)) == ["t8", "t7"]
    assert "and 7 more in report.json, none worse than 1.5 σ" in html.render(report)
    row["verdict"] = "FAIL"
    row["outputs"]["reference"]["t0"]["passed"] = False
    assert tensors_of(html.render(report)) == ["t0", "t8", "t7", "t6", "t5", "t4"]
    assert "and 3 more in report.json, none worse than 0.8 σ" in html.render(report)


def test_every_tensor_that_failed_is_shown(synthetic):
    row = synthetic.row()
    template = {**row["outputs"]["reference"]["y"], "passed": False, "sigma_max": math.nan}
    row.update(verdict="FAIL", outputs={"peer": {f"t{k}": template for k in range(40)}})
    text = html.render({**synthetic.small(), "cases": [row]})
    assert tensors_of(text) == [f"t{k}" for k in range(40)]
    assert "and 4 more in report.json" in text  # its gradients, which passed


def test_many_failures_are_folded(synthetic):
    report = synthetic.passing()
    for row in report["cases"]:
        row["verdict"] = "FAIL"
    text = html.render(report)
    assert "<summary>and 260 more</summary>" in text
    assert text.count('class="problem fail"') == 280


def test_measurements_that_are_absent_do_not_break_the_page(synthetic):
    report = {**synthetic.small(), "cases": [synthetic.row()]}
    report["environment"]["roof"] = None
    figures = report["cases"][0]["outputs"]["reference"]["y"]
    for name in (
        "sigma_max",
        "sigma_q999",
        "ulp_max",
        "cosine",
        "worst_index",
        "worst_value",
        "min_tolerance",
    ):
        figures[name] = None
    text = html.render(report)
    assert text.count("not measured") == 2
    assert "No row of this report measured time." in text


def test_the_light_and_the_dark_page_have_the_same_colours_defined(small):
    style = Page(html.render(small)).text["style"]
    light, dark = re.findall(r":root \{ ([^}]*--plot-ink[^}]*)\}", style)
    assert re.findall(r"--[\w-]+", light) == re.findall(r"--[\w-]+", dark)
    used = set(re.findall(r"var\((--[\w-]+)\)", html.render(small)))
    assert used <= set(re.findall(r"(--[\w-]+):", style))
