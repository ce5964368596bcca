"""The API reference follows the files."""

from readalong.api import pages, public_modules, write_pages


def test_every_public_module_has_a_page():
    tree = public_modules()
    assert "refimpl.layers.gelu" in tree["refimpl.layers"]
    assert "compare.cli" in tree["compare"]
    texts = pages(tree)
    assert "refimpl.layers.gelu.rst" in texts
    assert not any(part.startswith("_") for name in texts for part in name.split("."))


def test_a_page_goes_with_its_module_and_unchanged_ones_stay(tmp_path):
    write_pages(tmp_path, {"a.rst": "a", "b.rst": "b"})
    before = (tmp_path / "a.rst").stat().st_mtime_ns
    write_pages(tmp_path, {"a.rst": "a"})
    assert [path.name for path in tmp_path.iterdir()] == ["a.rst"]
    assert (tmp_path / "a.rst").stat().st_mtime_ns == before
