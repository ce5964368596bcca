"""The command in this process, and one small model that it has trained."""

import sys

import pytest

from refimpl.commands.cli import main

TEXT = "\n".join(f"{number} times {number} is {number * number}." for number in range(40)) + "\n"


@pytest.fixture(scope="session")
def text_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "squares.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def command(monkeypatch, capfd):
    """Status, standard output, standard error."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["refimpl", *map(str, words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code, *capfd.readouterr())

    return run


SIZES = ["--layers", 1, "--heads", 2, "--width", 8, "--context", 32, "--batch", 4]


@pytest.fixture(scope="session")
def trained(tmp_path_factory, text_file):
    """Folder of a model of characters, trained for a few steps."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    words = ["train", folder, "--text", text_file, "--steps", 12, "--sample", 0, *SIZES]
    argv, sys.argv = sys.argv, ["refimpl", *map(str, words)]
    try:
        with pytest.raises(SystemExit) as end:
            main()
    finally:
        sys.argv = argv
    assert not end.value.code
    return folder
