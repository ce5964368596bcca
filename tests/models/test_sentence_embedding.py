"""Sentence embeddings have length 1, and padding has no say."""

import numpy as np
import pytest

from refimpl.models.sentence_embedding import sentence_embedding


def test_the_mean_of_the_tokens_at_length_1():
    x = np.array([[[3.0, -1.0], [5.0, 1.0], [9.0, 9.0]]])
    y, _ = sentence_embedding(x, is_token=np.array([[True, True, False]]))
    assert y.tolist() == [[1, 0]]


def test_padding_may_hold_anything(generator):
    x = generator.standard_normal((2, 4, 3))
    is_token = np.array([[True, True, False, False], [True, True, True, False]])
    spoilt = np.where(is_token[..., None], x, np.nan)
    dy = generator.standard_normal((2, 3))
    y, pullback = sentence_embedding(x, is_token=is_token)
    y_spoilt, pullback_spoilt = sentence_embedding(spoilt, is_token=is_token)
    assert y.tobytes() == y_spoilt.tobytes()
    (dx,), (dx_spoilt,) = pullback(dy), pullback_spoilt(dy)
    assert dx.tobytes() == dx_spoilt.tobytes()
    assert not dx[~is_token].any()


def test_no_tokens_give_0_and_gradient_0():
    y, pullback = sentence_embedding(np.full((1, 2, 3), np.nan), is_token=np.zeros((1, 2), bool))
    assert y.tolist() == [[0, 0, 0]]
    assert not pullback(np.ones((1, 3)))[0].any()


def test_bad_input_is_named():
    x = np.zeros((2, 3, 4))
    with pytest.raises(ValueError, match="is_token"):
        sentence_embedding(x, is_token=np.ones((2, 4), bool))
    with pytest.raises(TypeError, match="is_token"):
        sentence_embedding(x, is_token=np.ones((2, 3)))
    with pytest.raises(ValueError, match="x must have"):
        sentence_embedding(x[0], is_token=np.ones((2, 3), bool))
