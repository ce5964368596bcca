import pytest

from compare.run.journal import NAME, Journal
from compare.run.problem import Problem


def test_what_was_appended_is_there_again(tmp_path):
    journal = Journal(tmp_path)
    journal.append("a", {"value": 1})
    journal.close(finished=False)
    assert Journal(tmp_path).entries == {"a": {"key": "a", "value": 1}}


@pytest.mark.parametrize("rest", [b'{"key": "b", "val', b'{"key": "b", "value": 2}', b"\xff\x00\n", b"[1]\n", b"{}\n"])
def test_a_damaged_end_is_cut_off_and_written_over(tmp_path, rest):
    journal = Journal(tmp_path)
    journal.append("a", {"value": 1})
    journal.close(finished=False)
    with (tmp_path / NAME).open("ab") as file:
        file.write(rest)
    journal = Journal(tmp_path)
    assert list(journal.entries) == ["a"]
    journal.append("c", {"value": 3})
    journal.close(finished=False)
    assert list(Journal(tmp_path).entries) == ["a", "c"]


def test_a_finished_run_leaves_nothing(tmp_path):
    journal = Journal(tmp_path)
    journal.append("a", {"value": 1})
    journal.close(finished=True)
    assert not list(tmp_path.iterdir())


def test_a_run_that_did_nothing_leaves_nothing(tmp_path):
    Journal(tmp_path).close(finished=False)
    assert not list(tmp_path.iterdir())


def test_fresh_forgets(tmp_path):
    journal = Journal(tmp_path)
    journal.append("a", {"value": 1})
    journal.close(finished=False)
    assert Journal(tmp_path, fresh=True).entries == {}


def test_two_runs_cannot_write_to_one_folder(tmp_path):
    journal = Journal(tmp_path)
    with pytest.raises(Problem, match="another run"):
        Journal(tmp_path)
    journal.close(finished=True)
    Journal(tmp_path)


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match=r"cannot write to the folder .*file/reports"):
        Journal(tmp_path / "file" / "reports")
