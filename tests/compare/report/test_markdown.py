import pytest
from markdown_it import MarkdownIt

from compare.report import markdown


def html(text):
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_all_is_well_is_the_first_line(small):
    assert markdown.render(small).startswith("# Comparison report: all passed\n")


def test_failures_come_first_and_tables_by_section(mixed):
    text = markdown.render(mixed)
    assert text.startswith("# Comparison report: 8 did not pass\n")
    assert text.index("### FAIL: gelu_tanh") < text.index("## layers") < text.index("## models")
    assert "` refcompare run gelu_tanh --config rank3 --dtype float32 --peer torch `" in text


def test_tables_render_as_tables(mixed):
    assert html(markdown.render(mixed)).count("<table>") == 6  # five sections and the environment


def test_hostile_names_stay_text(synthetic):
    page = html(markdown.render(synthetic.hostile()))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<h1>") == 1
    # Every line of the table has as many cells as its heading: no name has broken out of its cell.
    rows = [row.count("<td") for row in page.split("<tr>") if "<td" in row]
    assert set(rows) == {8, 2}


@pytest.mark.parametrize(
    "text", ["a|b", "**a**", "`a`", "[a](b)", "<b>", "# a", "_a_", "1 < 2 & 3 > 2", "$x$"]
)
def test_escaped_text_shows_as_itself(text):
    shown = html(markdown.escape(text)).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown == f"<p>{text}</p>\n"
