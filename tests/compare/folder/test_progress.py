"""A bar that a child process moves."""

import tqdm

from compare.folder.progress import watched


def test_what_the_child_tells_is_what_the_bar_shows(monkeypatch):
    bars = []

    class Bar(tqdm.tqdm):
        def __init__(self, **settings):
            super().__init__(**settings | {"disable": False, "leave": True})
            bars.append(self)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    with watched("model") as told:
        for i in range(1, 4):
            told.send((i, 4))
    assert [(bar.desc, bar.n, bar.total) for bar in bars] == [("model", 3, 4)]


def test_without_a_terminal_there_is_no_bar(capsys):
    with watched("model") as told:
        told.send((1, 2))
    assert capsys.readouterr() == ("", "")
