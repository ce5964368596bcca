"""The built site, opened page by page in a browser that has no network."""

import pytest

from tests.docs.visit import dead_links, visit

# A first build executes every example.
pytestmark = pytest.mark.timeout(900)


# One test for all that takes a visit to every page: with two workers each would pay for its own.
def test_every_page_is_whole_and_every_link_alive(site, browser):
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    visits = {page: visit(browser, page) for page in pages}
    faults = [f"{page.relative_to(site)}: {fault}" for page, seen in visits.items() for fault in seen.faults]
    assert faults + dead_links(visits) == []
    components = [seen for page, seen in visits.items() if site / "components" in page.parent.parents]
    assert len(components) >= 20
    assert all(seen.equations for seen in components)


def test_pages_fit_a_narrow_screen(site, browser):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        pages = [site / "index.html", *site.glob("guide/*.html"), *site.glob("components/*/**/*.html")]
        assert [f"{page.name}: {fault}" for page in pages for fault in visit(browser, page).faults] == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


BROKEN = {
    "console: ": "<script>throw new Error('broken')</script>",
    "requests http://": "<img src='http://example.invalid/picture.png' alt=''>",
    "image does not load": "<img src='gone.png' alt=''>",
    "renders 0 of 1 equations": "<span class='math'>\\(x\\)</span>",
    "an example warns": "<div class='output stderr'>UserWarning</div>",
    "name of a figure": "<div class='cell_output'><pre>&lt;Figure size 640x340 with 1 Axes&gt;</pre></div>",
    "pixels wider than the window": "<div style='width: 5000px'>wide</div>",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_page_is_noticed(fault, browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'><body>{BROKEN[fault]}</body>")
    assert any(fault in found for found in visit(browser, page).faults)


def test_a_wrong_equation_is_noticed(site, browser, tmp_path):
    page = tmp_path / "page.html"
    script = f"<script src='{(site / '_static' / 'tex-svg.js').as_uri()}'></script>"
    wrong = "<span class='math'>\\(\\frac{1}\\)</span>"
    page.write_text(f"<!doctype html><meta charset='utf-8'>{script}<body>{wrong}</body>")
    assert any("equation" in found for found in visit(browser, page).faults)


def test_dead_links_are_noticed(browser, tmp_path):
    here, there = tmp_path / "here.html", tmp_path / "there.html"
    links = "<a href='there.html#yes'>a</a><a href='there.html#no'>b</a><a href='gone.html'>c</a>"
    here.write_text(f"<!doctype html>{links}")
    there.write_text("<!doctype html><p id='yes'>hello</p>")
    dead = dead_links({page: visit(browser, page) for page in (here, there)})
    assert [sentence.split("/")[-1] for sentence in dead] == [
        "here.html links to there.html#no, which has no such anchor",
        "gone.html, which is not there",
    ]
