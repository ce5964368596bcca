import math

import pytest

from compare.report import schema, write_all


@pytest.fixture
def small(small):
    small["cases"][0]["outputs"]["reference"]["y"]["sigma_max"] = math.inf
    return small


def test_three_files_and_the_json_is_the_source(tmp_path, small):
    paths = write_all(small, tmp_path / "reports" / "latest")
    assert [path.name for path in paths] == ["report.json", "report.md", "report.html"]
    assert sorted(path.name for path in paths[0].parent.iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]
    # What is written from the file read back is what was written at first.
    again = write_all(schema.read(paths[0]), tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_an_encoded_report_gives_the_same_pages(tmp_path, small):
    plain = write_all(small, tmp_path / "plain")
    encoded = write_all(schema.encode(small), tmp_path / "encoded")
    assert [path.read_bytes() for path in plain] == [path.read_bytes() for path in encoded]


def test_an_invalid_report_leaves_no_file(tmp_path, small):
    small["cases"][0]["verdict"] = "GOOD"
    with pytest.raises(ValueError, match="verdict must be one of"):
        write_all(small, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_one_clear_error(tmp_path, small):
    (tmp_path / "latest").write_text("mine")
    with pytest.raises(OSError, match=r"^cannot write .*latest/report\.json: "):
        write_all(small, tmp_path / "latest")
    assert (tmp_path / "latest").read_text() == "mine"
