"""The peer in an environment of its own: what is told where it is absent, and what it answers where it is there."""

import numpy as np
import pytest
import torch

from compare.cases.registry import case_named
from compare.cases.transformer_xl import HF, PLAIN
from compare.peers import other_environment, transformer_xl_peer
from compare.peers.other_environment import ask, what_is_missing
from compare.run.catalogue import describe
from compare.run.row import judge_config

NAMES = ("transformer_xl", "transformer_xl_lm", "transformer_xl_loss", "transformer_xl_segments")
there = pytest.mark.skipif(bool(what_is_missing()), reason=f"transformers 4.36: {what_is_missing()}")


@pytest.fixture
def absent(monkeypatch, tmp_path):
    monkeypatch.setattr(other_environment, "READY", tmp_path / "nothing")


def test_where_it_is_absent_its_peer_is_left_out_and_the_case_says_so(absent):
    entries = describe(()).cases
    for name in NAMES:
        assert entries[name].libraries == ("torch",)
        assert entries[name].missing == {HF: "its environment is not there; `make transformer-xl` builds it"}
    case = case_named("transformer_xl_lm")
    rows = judge_config(case, case.config_named("divided"), "float32")
    assert [(row["peer"], row["verdict"]) for row in rows] == [("torch", "PASS")]
    with pytest.raises(RuntimeError, match=r"transformers 4\.36\.2 cannot run: its environment is not there"):
        ask({}, {})


@there
def test_where_it_is_there_nothing_is_missing():
    for name in NAMES:
        case = case_named(name)
        assert not case.missing_peers()
        assert case.peers_here() == ("torch", HF)


@there
def test_what_goes_wrong_there_is_told_here_and_the_next_question_is_answered(generator):
    with pytest.raises(RuntimeError, match=r"AttributeError: .*NoSuchModel"):
        ask({"class_name": "NoSuchModel", "settings": {}, "dtype": "float32"}, {"ids": np.zeros((1, 1), np.int64)})
    case = case_named("transformer_xl")
    token_ids, memory, params = case.inputs(generator, config=PLAIN, n_batch=1, n_seq=2, n_before=3).args
    tensors = {key: torch.tensor(x, requires_grad=True) for key, x in params.items()}
    states = transformer_xl_peer.backbone(torch.tensor(token_ids), torch.tensor(memory), tensors, config=PLAIN)
    assert [tuple(state.shape) for state in states] == [(1, 2, 6)] * 3 + [(2, 1, 5, 6)]
    states[2].sum().backward()
    assert all(x.grad is not None for x in tensors.values())


@there
def test_it_ends_with_the_one_who_asks():
    worker = other_environment._worker(-1)  # of a process that there is not
    worker.stdin.close()
    assert worker.wait(timeout=60) == 0
