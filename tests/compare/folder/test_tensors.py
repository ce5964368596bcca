from dataclasses import dataclass

import numpy as np
import pytest

from compare.folder.tensors import differing_settings, differing_tensors
from refimpl.checkpoints.recurrent_conventions import reorder_gates
from refimpl.positions.rotary_layout import half_to_interleaved

HEADS = 2
TAIL = range(24, 36)


def tensors():
    rng = np.random.default_rng(0)
    return {
        "square": rng.normal(size=(12, 12)), "qkv": rng.normal(size=(36, 5)), "q": rng.normal(size=(16, 6)),
        "k": rng.normal(size=(16, 6)), "norm": rng.normal(size=7),
    }  # fmt: skip


def fused(x):
    return x.reshape(3, HEADS, 6, 5).swapaxes(0, 1).reshape(x.shape)


MISTAKES = {
    "square: transposed": {"square": lambda x: x.T},
    "square: negated": {"square": lambda x: -x},
    "square: 0.5 times as large": {"square": lambda x: 0.5 * x},
    "square: its rows in another order": {"square": lambda x: x[[1, 0, *range(2, 12)]]},
    "qkv: its three parts in the order key, query, value": {"qkv": lambda x: x[[*range(12, 24), *range(12), *TAIL]]},
    "qkv: fused head by head": {"qkv": fused},
    "q: rotary pairs interleaved, not in halves (2 heads)": {"q": lambda x: half_to_interleaved(x, n_head=HEADS)},
    "q: gates as onnx orders them": {"q": lambda x: reorder_gates(x, kind="lstm", source="torch", target="onnx")},
    "norm: 1 added": {"norm": lambda x: x + 1},
    "norm: 1 subtracted": {"norm": lambda x: x - 1},
}


@pytest.mark.parametrize("said", MISTAKES)
def test_the_usual_mistakes_are_told_by_name(said):
    right = tensors()
    wrong = {key: MISTAKES[said].get(key, lambda x: x)(x) for key, x in right.items()}
    assert differing_tensors(wrong, right, n_head=HEADS) == [said]


def test_exchanged_tensors_are_told_in_both_places():
    right = tensors()
    wrong = {**right, "q": right["k"], "k": right["q"]}
    assert differing_tensors(wrong, right, n_head=HEADS) == ["q: what k is there", "k: what q is there"]


def test_anything_else_is_told_by_its_amount():
    right = tensors()
    wrong = {**right, "norm": right["norm"] + np.array([0, 0, 0.25, 0, 0, -0.5, 0])}
    assert differing_tensors(wrong, right, n_head=HEADS) == ["norm: 2 of 7 numbers differ, by up to 0.5"]


def test_missing_and_extra_and_other_shapes():
    right = tensors()
    wrong = {**right, "new": right["norm"], "q": right["q"].T}
    del wrong["norm"]
    assert differing_tensors(wrong, right, n_head=HEADS) == [
        "norm is there only", "new is here only", "q: shape (6, 16), there (16, 6), transposed",
    ]  # fmt: skip


def test_equal_checkpoints_differ_in_nothing():
    assert differing_tensors(tensors(), tensors(), n_head=HEADS) == []


def test_settings_are_told_by_name_and_both_values():
    @dataclass
    class Config:
        eps: float
        activation: str = "gelu"

    assert differing_settings(Config(1e-12), Config(1e-5)) == ["eps is 1e-12, there 1e-05"]
