"""The page of the properties reads the list that the tests keep true."""

from readalong.properties import listed_properties


def test_every_row_has_all_that_is_shown():
    rows = listed_properties()
    assert rows
    for row in rows:
        assert row.keys() == {"says", "on", "kills", "test", "planted"}


def test_a_list_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "table.toml"
    path.write_text('[[property]]\nsays = "σ > 0"\n', encoding="utf-8")
    assert listed_properties(path) == [{"says": "σ > 0"}]
