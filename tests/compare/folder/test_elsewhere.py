"""Folders of Transformer-XL: compared in the environment of an older `transformers`, or said to be not."""

import numpy as np
import pytest

from compare.folder.job import compare_folder
from compare.peers import other_environment
from compare.peers.other_environment import what_is_missing
from refimpl.checkpoints import Checkpoint, save_folder
from tests.models.transformer_xl.small import VARIANTS, params

there = pytest.mark.skipif(bool(what_is_missing()), reason=f"transformers 4.36: {what_is_missing()}")


def saved(folder, name, spoil=None):
    found = {key: x.astype(np.float32) for key, x in params(VARIANTS[name]).items()}
    if spoil:
        found[spoil] = 1.25 * found[spoil] + np.float32(0.125)
    save_folder(folder, Checkpoint("transfo-xl", found, VARIANTS[name]))
    return str(folder)


def compared(folder, against=None):
    found = compare_folder(folder, against, ["float64", "float32"], None, 5, 0, 2**30)
    return {(row["config"]["name"], row["dtype"]): (row["verdict"], row["reason"]) for row in found["rows"]}


@there
@pytest.mark.parametrize("name", VARIANTS)
def test_every_stage_of_a_folder_is_equal(name, tmp_path):
    told = compared(saved(tmp_path, name))
    assert {stage for stage, _ in told} == {"embeddings", "layer 0", "layer 1", "log-probabilities"}
    assert {*told.values()} == {("PASS", "")}


@there
@pytest.mark.parametrize(
    ("key", "stage"),
    [
        ("embedding.tables.1.weight", "embeddings"), ("layers.0.self_attn.qkv_net.weight", "layer 0"),
        ("layers.1.linear2.bias", "layer 1"), ("softmax.clusters.weight", "log-probabilities"),
    ],
)  # fmt: skip
def test_what_is_spoiled_is_named(key, stage, tmp_path):
    name = next(iter(VARIANTS))
    told = compared(saved(tmp_path / "right", name), saved(tmp_path / "wrong", name, key))
    for dtype in ("float64", "float32"):
        first, *_ = [found for found, of in told if of == dtype and told[found, of][0] == "FAIL"]
        assert first == stage
        assert told[stage, dtype][1].startswith(f"{stage} adds an error of its own, on the true input: ")
        # A table of the embedding is one of the softmax, too.
        own = {found for found, of in told if of == dtype and "of its own" in told[found, of][1]}
        assert own == {stage, "log-probabilities"} if stage == "embeddings" else own == {stage}


def test_where_the_environment_is_absent_it_is_said_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(other_environment, "READY", tmp_path / "nothing")
    folder = saved(tmp_path / "model", next(iter(VARIANTS)))
    assert compare_folder(folder, None, ["float32"], None, None, 0, 2**30) == {
        "refused": f"{folder}: nothing to compare with: of transformers 4.36.2, the last with Transformer-XL, "
        "its environment is not there; `make transformer-xl` builds it"
    }

