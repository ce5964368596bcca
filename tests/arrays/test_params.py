"""Parameter dicts: selecting below a prefix, joining, and refusing to overwrite a gradient."""

import pytest

from refimpl.arrays import add_prefix, keyed_as, merge, pick, scope

PARAMS = {"norm1.weight": 1, "norm1.bias": 2, "norm10.weight": 3, "self_attn.out_proj.weight": 4}


def test_scope_strips_the_prefix():
    assert scope(PARAMS, "norm1.") == {"weight": 1, "bias": 2}
    assert scope(PARAMS, "self_attn.") == {"out_proj.weight": 4}
    assert scope(scope(PARAMS, "self_attn."), "out_proj.") == {"weight": 4}


def test_scope_of_nothing():
    assert scope(PARAMS, "norm2.") == {}


def test_add_prefix_is_the_inverse_of_scope():
    inner = {"weight": 1, "bias": 2}
    assert add_prefix("norm1.", inner) == {"norm1.weight": 1, "norm1.bias": 2}
    assert scope(add_prefix("norm1.", inner), "norm1.") == inner


def test_pick_passes_over_absent_keys_and_keeps_the_order():
    assert list(pick(PARAMS, "norm1.bias", "absent", "norm1.weight")) == ["norm1.bias", "norm1.weight"]


def test_keyed_as_keeps_the_keys_and_order_of_the_parameters():
    assert list(keyed_as({"bias": 3, "weight": 4, "absent": 5}, {"weight": 1, "bias": 2}).items()) == [
        ("weight", 4), ("bias", 3)
    ]  # fmt: skip


def test_keyed_as_refuses_to_lose_a_gradient():
    with pytest.raises(KeyError, match="bias"):
        keyed_as({"weight": 4}, {"weight": 1, "bias": 2})


def test_merge_joins():
    assert merge({"a": 1}, {}, {"b": 2, "c": 3}) == {"a": 1, "b": 2, "c": 3}
    assert merge() == {}


def test_merge_refuses_to_overwrite():
    with pytest.raises(ValueError, match=r"expected every key in one part only, got twice: a, b$"):
        merge({"b": 1, "a": 2, "c": 3}, {"a": 1, "b": 3})


def test_nothing_is_changed():
    params, other = dict(PARAMS), {"x": 1}
    merge(scope(params, "norm1."), add_prefix("y.", other), pick(params, "norm10.weight"))
    assert (params, other) == (PARAMS, {"x": 1})
