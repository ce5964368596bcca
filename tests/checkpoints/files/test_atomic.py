import os
import signal

import pytest

from refimpl.checkpoints.files.atomic import atomic_files


def test_files_appear_together_and_nothing_else(tmp_path):
    with atomic_files(tmp_path, ["a", "b"]) as [a, b]:
        a.write_text("A")
        b.write_text("B")
        assert not (tmp_path / "a").exists()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "A", "b": "B"}


def test_a_failure_leaves_every_old_file(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(RuntimeError), atomic_files(tmp_path, ["a", "b"]) as [a, _]:
        a.write_text("new")
        raise RuntimeError
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def test_a_file_that_was_not_written_moves_none(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_files(tmp_path, ["a", "b"]) as [a, b]:
        a.write_text("new")
        assert not b.exists()
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_waits_until_the_files_are_in_place(tmp_path, monkeypatch):
    """The signal comes between two moves, and again."""
    move, moved = os.replace, []

    def interrupted(source, target):
        signal.raise_signal(signal.SIGINT)
        move(source, target)
        moved.append(target)

    monkeypatch.setattr(os, "replace", interrupted)
    monkeypatch.setattr(signal, "SIGINT", signal.SIGUSR1)  # pytest itself listens to Ctrl-C
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), atomic_files(tmp_path, ["a", "b"], doors=["b"]) as [a, b]:
            a.write_text("A")
            b.write_text("B")
        assert signal.getsignal(signal.SIGUSR1) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [path.name for path in moved] == ["a", "b"]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "A", "b": "B"}
