"""Settings are numbers, named when they are not, and never decide a dtype."""

import math
import re

import numpy as np
import pytest

from refimpl.arrays import (
    check_below,
    check_choice,
    check_flag,
    check_multiple,
    check_positive,
    check_size,
    integer,
    number,
)
from refimpl.attention.dot_product import attention
from refimpl.attention.mask import causal_mask, length_mask
from refimpl.attention.multi_head import self_attention
from refimpl.blocks.encoder import encoder
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.dropout import dropout, keep_mask
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.rms_norm import rms_norm
from refimpl.layers.softmax import logsumexp, softmax

X = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(3, 4)
KEEP = np.ones((3, 4), bool)
PARAMS = {"in_proj_weight": np.ones((12, 4), np.float32), "out_proj.weight": np.ones((4, 4), np.float32)}


@pytest.mark.parametrize("value", [2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_a_number_loses_its_dtype(value):
    assert type(number("x", value)) is float
    assert number("x", value, at_least=0.0) == 2.0


@pytest.mark.parametrize("value", [3, np.int8(3)])
def test_an_integer_loses_its_dtype(value):
    assert type(integer("n", value)) is int
    assert integer("n", value, at_least=3, below=4) == 3


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        ("1", {}, "x must be a number, got '1'"),
        (None, {}, "x must be a number, got None"),
        (True, {}, "x must be a number, got True"),
        (np.ones(2), {}, "x must be a number, got array"),
        (1j, {}, "x must be a number, got 1j"),
        (math.nan, {}, "x must be finite, got nan"),
        (math.inf, {"at_least": 0.0}, "x must be finite, got inf"),
        (-0.5, {"at_least": 0.0, "at_most": 1.0}, r"x must be in \[0, 1\], got -0.5"),
        (0.0, {"above": 0.0}, "x must be positive, got 0.0"),
        (1.0, {"above": 1.0}, "x must be above 1, got 1.0"),
        (-1.0, {"at_least": 0.0}, "x must be at least 0, got -1.0"),
    ],
)
def test_what_is_no_number_is_refused_by_name(value, limits, message):
    with pytest.raises(ValueError, match=message):
        number("x", value, **limits)


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (1.5, {}, "n must be an integer, got 1.5"),
        (True, {}, "n must be an integer, got True"),
        (-1, {"at_least": 0}, "n must be at least 0, got -1"),
        (4, {"at_least": -2, "below": 2}, r"n must be in \[-2, 2\), got 4"),
    ],
)
def test_what_is_no_integer_is_refused_by_name(value, limits, message):
    with pytest.raises(ValueError, match=message):
        integer("n", value, **limits)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: layer_norm(X, {}, eps=a),
        lambda a: rms_norm(X, {}, eps=a),
        lambda a: rms_norm(X, {"weight": X[0]}, weight_offset=a),
        lambda a: dropout(X, keep=KEEP, rate=a),
        lambda a: cross_entropy(X, np.array([0, 1, 2]), label_smoothing=a),
        lambda a: cross_entropy(X, np.array([0, 1, 2]), z_loss=a),
        lambda a: attention(X, X, X, scale=a),
        lambda a: attention(X, X, X, softcap=a),
        lambda a: attention(X, X, X, keep=KEEP[:, :3], rate=a),
    ],
)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_the_dtype_that_goes_in_comes_out_whatever_kind_of_number_a_setting_is(call, kind):
    y, pullback = call(kind(0.25))
    assert y.dtype == np.float32
    assert {dx.dtype for dx in pullback(np.ones(y.shape, np.float32)) if not isinstance(dx, dict)} == {y.dtype}


@pytest.mark.parametrize("bad", ["x", [0.5], np.ones(2), {}])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("eps", lambda a: layer_norm(X, {}, eps=a)),
        ("eps", lambda a: rms_norm(X, {}, eps=a)),
        ("rate", lambda a: dropout(X, keep=KEEP, rate=a)),
        ("rate", lambda a: keep_mask(np.random.default_rng(0), (2,), rate=a)),
        ("label_smoothing", lambda a: cross_entropy(X, np.array([0, 1, 2]), label_smoothing=a)),
        ("z_loss", lambda a: cross_entropy(X, np.array([0, 1, 2]), z_loss=a)),
        ("ignore_index", lambda a: cross_entropy(X, np.array([0, 1, 2]), ignore_index=a)),
        ("axis", lambda a: softmax(X, axis=a)),
        ("axis", lambda a: logsumexp(X, axis=a)),
        ("padding_id", lambda a: embedding(np.array([0]), {"weight": X}, padding_id=a)),
        ("scale", lambda a: attention(X, X, X, scale=a)),
        ("softcap", lambda a: attention(X, X, X, softcap=a)),
        ("n_query", lambda a: causal_mask(a, 3, like=X)),
        ("n_key", lambda a: causal_mask(3, a, like=X)),
        ("n_key", lambda a: length_mask(np.array([1]), a)),
        ("n_head", lambda a: self_attention(X[None], PARAMS, n_head=a)),
        ("n_layer", lambda a: encoder(X[None], PARAMS, n_layer=a, n_head=2)),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(name, call, bad):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call(bad)


def test_more_layers_than_parameters_are_refused_before_they_are_listed():
    with pytest.raises(ValueError, match="n_layer must be at most 2"):
        encoder(X[None], PARAMS, n_layer=10**30, n_head=2)


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "1", None])
def test_a_size_is_a_positive_int(value):
    with pytest.raises(ValueError, match=re.escape(f"n_head must be an integer of at least 1, got {value!r}")):
        check_size("n_head", value)


def test_an_id_may_be_0():
    check_size("pad_id", 0, at_least=0)


@pytest.mark.parametrize("value", [0, -1e-5, math.inf, math.nan, True, "1e-5", None])
def test_an_eps_is_positive_and_finite(value):
    with pytest.raises(ValueError, match=re.escape(f"norm_eps must be a positive finite number, got {value!r}")):
        check_positive("norm_eps", value)
    check_positive("norm_eps", 1e-12)


@pytest.mark.parametrize("value", [0, 1, None, "True", np.True_])
def test_a_flag_is_true_or_false(value):
    with pytest.raises(ValueError, match=re.escape(f"tied must be True or False, got {value!r}")):
        check_flag("tied", value)
    check_flag("tied", False)


@pytest.mark.parametrize("value", ["swish", None, ["relu"]])
def test_a_choice_is_one_of_a_few(value):
    with pytest.raises(ValueError, match=re.escape(f"activation must be one of relu, gelu, got {value!r}")):
        check_choice("activation", value, {"relu": 1, "gelu": 2})
    check_choice("activation", "gelu", {"relu": 1, "gelu": 2})


def test_a_multiple_is_one_of_all():
    check_multiple("d_model", 12, n_head=3, n_decoder_head=4)
    with pytest.raises(ValueError, match=r"^d_model must be a multiple of n_decoder_head = 5, got 12$"):
        check_multiple("d_model", 12, n_head=3, n_decoder_head=5)


def test_below_is_below_all():
    check_below("pad_id", 8, vocab_size=9, n_position=10)
    with pytest.raises(ValueError, match=r"^pad_id must be below n_position = 9, got 9$"):
        check_below("pad_id", 9, vocab_size=10, n_position=9)
