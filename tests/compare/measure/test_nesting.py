"""Nested arrays: found, altered, fingerprinted."""

from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
import torch

from compare.measure.nesting import altered, fingerprint, is_array, leaves

Pair = namedtuple("Pair", "x y")


@dataclass(frozen=True)
class Inputs:
    x: object
    n_head: int


def test_leaves_are_found_in_every_container():
    nested = {"a": [1.0, (2.0,)], "b": Inputs(x=3.0, n_head=4), "c": SimpleNamespace(d=None)}
    assert list(leaves(nested)) == [
        ("/a/0", 1.0), ("/a/1/0", 2.0), ("/b/x", 3.0), ("/b/n_head", 4), ("/c/d", None),
    ]


def test_arrays_of_every_library_are_arrays():
    assert is_array(np.ones(2)) and is_array(np.float32(1)) and is_array(torch.ones(2))
    assert not is_array([1.0]) and not is_array(1.0) and not is_array(None)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128", ml_dtypes.bfloat16])
def test_every_other_entry_is_halved_in_a_copy(dtype):
    x = np.array([1.0, -3.0], dtype=dtype)
    x.flags.writeable = False
    half = altered({"x": x})["x"]
    assert half.dtype == x.dtype
    assert np.array_equal(half, np.array([0.5, -3.0], dtype=dtype))
    assert np.array_equal(x, np.array([1.0, -3.0], dtype=dtype))


def test_everything_else_is_passed_on():
    ids, mask, module = np.arange(3), np.array([True]), torch.nn.Linear(2, 2)
    half = altered([ids, mask, module, 0.5, "text", torch.arange(3)])
    assert half[0] is ids and half[1] is mask and half[2] is module
    assert half[3:5] == [0.5, "text"] and half[5].dtype == torch.int64


def test_containers_keep_their_kind():
    x = np.array([2.0])
    half = altered((Pair(x, 1), Inputs(x, n_head=2), SimpleNamespace(x=x), [x]))
    assert isinstance(half[0], Pair) and half[0].x == 1.0 and half[0].y == 1
    assert half[1].x == 1.0 and half[1].n_head == 2
    assert half[2].x == 1.0 and half[3][0] == 1.0


@pytest.mark.parametrize("requires_grad", [False, True])
def test_altered_tensors_are_leaves_with_the_same_wish_for_a_gradient(requires_grad):
    x = torch.ones(3, requires_grad=requires_grad)
    half = altered((x,))[0]
    assert half.is_leaf and half.requires_grad is requires_grad
    assert torch.equal(half, torch.tensor([0.5, 1.0, 0.5])) and x.grad is None


def outputs():
    return {"y": np.arange(6.0).reshape(2, 3), "gradients": (torch.ones(2, dtype=torch.bfloat16), None, 3)}


def test_equal_outputs_have_equal_fingerprints():
    assert fingerprint(outputs()) == fingerprint(outputs())


def _one_bit(out):
    out["y"][1, 2] = np.nextafter(out["y"][1, 2], np.inf)


def _other_dtype(out):
    out["y"] = out["y"].astype(np.float32)


def _same_bytes_other_dtype(out):
    out["y"] = out["y"].view(np.int64)


def _other_shape(out):
    out["y"] = out["y"].reshape(3, 2)


def _other_order(out):
    out["y"] = np.asfortranarray(out["y"]).ravel("K").reshape(2, 3)


def _other_key(out):
    out["z"] = out.pop("y")


def _missing(out):
    del out["gradients"]


def _tensor_bit(out):
    out["gradients"][0][1] = 1.0078125


def _negative_zero(out):
    out["y"][0, 0] = -0.0


def _other_number(out):
    out["gradients"] = (*out["gradients"][:2], 4)


CHANGES = [
    _one_bit, _other_dtype, _same_bytes_other_dtype, _other_shape, _other_order, _other_key, _missing,
    _tensor_bit, _negative_zero, _other_number,
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_shows(change):
    changed = outputs()
    change(changed)
    assert fingerprint(changed) != fingerprint(outputs())


def test_layout_in_memory_does_not_show():
    y = np.arange(6.0).reshape(2, 3)
    assert fingerprint(y) == fingerprint(np.asfortranarray(y)) == fingerprint(y[::-1].copy()[::-1])
    t = torch.arange(6.0).reshape(2, 3)
    assert fingerprint(t) == fingerprint(t.T.contiguous().T)


def test_padding_of_longdouble_does_not_show_and_its_last_bit_does():
    third = np.ones(4, dtype=np.longdouble) / 3
    dirty = np.frombuffer(bytearray(b"\xff" * third.nbytes), dtype=np.longdouble).copy()
    dirty[...] = third
    assert fingerprint(third) == fingerprint(dirty)
    assert fingerprint(third) != fingerprint(np.nextafter(third, np.longdouble(1)))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(TypeError, match=r"got object at /y"):
        fingerprint({"y": object()})


def test_what_normalises_its_input_notices_the_alteration():
    x = np.array([[3.0, 4.0, 5.0], [1.0, 2.0, 7.0]])
    direction = x / np.linalg.norm(x, axis=-1, keepdims=True)
    other = altered(x) / np.linalg.norm(altered(x), axis=-1, keepdims=True)
    assert not np.array_equal(direction, other)


def test_one_number_is_halved():
    assert altered(np.array(3.0)) == 1.5 and altered(torch.tensor(3.0)) == 1.5
