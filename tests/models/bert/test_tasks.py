import numpy as np
import pytest

from refimpl.attention.mask import padding_mask
from refimpl.models.bert.model import bert
from refimpl.models.bert.tasks import (
    bert_for_classification,
    bert_for_masked_lm,
    bert_for_question_answering,
    bert_for_token_classification,
    classification_head,
    pooled_tokens,
)
from tests.models.bert.small_bert import BACKBONE, CONFIG, SEGMENT_IDS, TOKEN_IDS, params

GENERATOR = np.random.default_rng(0)
HEAD = {f"head.{key}": GENERATOR.standard_normal(shape) for key, shape in (
    ("dense.weight", (4, 6)), ("dense.bias", (4,)), ("norm.weight", (4,)), ("norm.bias", (4,)),
    ("out.weight", (3, 4)), ("out.bias", (3,)),
)}  # fmt: skip
MODELS = pytest.mark.parametrize(
    ("f", "all_params"),
    [
        (bert_for_token_classification, params("embeddings.", "encoder.", "classifier.")),
        (bert_for_question_answering, params("embeddings.", "encoder.", "qa.")),
        (bert_for_masked_lm, params("embeddings.", "encoder.", "mlm.")),
        (bert_for_classification, BACKBONE | HEAD),
    ],
)


def test_the_mean_leaves_padding_out():
    x = np.array([[[1.0, 2.0], [3.0, 6.0], [np.nan, np.inf]]])
    is_token = np.array([[True, True, False]])
    y, pullback = pooled_tokens(x, pooling="mean", is_token=is_token)
    np.testing.assert_array_equal(y, [[2, 4]])
    np.testing.assert_array_equal(pullback(np.array([[2.0, 4.0]]))[0], [[[1, 2], [1, 2], [0, 0]]])
    np.testing.assert_array_equal(pooled_tokens(x, pooling="mean", is_token=~is_token & False)[0], [[0, 0]])
    np.testing.assert_array_equal(pooled_tokens(x)[0], [[1, 2]])


@pytest.mark.parametrize(
    ("x", "settings", "error", "message"),
    [
        (np.ones((2, 3)), {}, ValueError, r"x must have shape \(any, any, any\), got \(2, 3\)"),
        (np.ones((2, 0, 3)), {}, ValueError, "n_seq must be at least 1, got 0"),
        (np.ones((2, 4, 3)), {"pooling": "max"}, ValueError, "pooling must be one of first, mean, got 'max'"),
        (np.ones((2, 4, 3)), {"is_token": np.ones((2, 3), bool)}, ValueError, r"is_token must have shape \(2, 4\)"),
        (np.ones((2, 4, 3)), {"is_token": np.ones((2, 4))}, TypeError, "is_token must be a boolean array"),
    ],
)
def test_bad_pooling(x, settings, error, message):
    with pytest.raises(error, match=message):
        pooled_tokens(x, **settings)


def test_a_head_of_one_map_has_no_activation():
    y, _ = classification_head(-np.ones((2, 2)), {"out.weight": np.eye(2)})
    np.testing.assert_array_equal(y, -np.ones((2, 2)))


@pytest.mark.parametrize("key", ["norm.weight", "dense.bias"])
def test_what_comes_behind_the_dense_map_needs_it(key):
    with pytest.raises(ValueError, match=r"params must have the keys dense\.weight"):
        classification_head(np.ones((2, 2)), {"out.weight": np.eye(2), key: np.ones(2)})


def test_the_mean_of_a_model_is_that_of_its_tokens():
    """Padding behind the sentences changes nothing, where mask and mean leave it out."""
    is_token = np.array([[True, True, True], [True, True, False]])
    settings = {"config": CONFIG, "pooling": "mean"}
    y, _ = bert_for_classification(
        TOKEN_IDS, SEGMENT_IDS, BACKBONE | HEAD, mask=padding_mask(is_token), is_token=is_token, **settings
    )
    alone, _ = bert_for_classification(TOKEN_IDS[1:, :2], SEGMENT_IDS[1:, :2], BACKBONE | HEAD, **settings)
    assert np.max(np.abs(y[1:] - alone)) <= 2**8 * np.finfo(float).eps * np.max(np.abs(alone))


def test_every_task_reads_the_last_states():
    states, _ = bert(TOKEN_IDS, SEGMENT_IDS, BACKBONE, config=CONFIG)
    classes = params("embeddings.", "encoder.", "classifier.")
    logits, _ = bert_for_token_classification(TOKEN_IDS, SEGMENT_IDS, classes, config=CONFIG)
    assert logits.shape == (2, 3, 3)
    answers = params("embeddings.", "encoder.", "qa.")
    (start, end), _ = bert_for_question_answering(TOKEN_IDS, SEGMENT_IDS, answers, config=CONFIG)
    assert start.shape == end.shape == (2, 3)
    assert states[-1].shape == (2, 3, 6)


@MODELS
def test_gradients_keep_the_order_of_the_parameters(f, all_params):
    backwards = dict(reversed(all_params.items()))
    y, pullback = f(TOKEN_IDS, SEGMENT_IDS, backwards, config=CONFIG)
    assert list(pullback(y)[0]) == list(backwards)


@MODELS
def test_bad_params(f, all_params):
    with pytest.raises(ValueError, match=r"params must have .*got .*stray"):
        f(TOKEN_IDS, SEGMENT_IDS, all_params | {"stray": np.ones(2)}, config=CONFIG)
    for missing in (key for key in all_params if key.endswith("weight") and "norm" not in key):
        with pytest.raises(ValueError, match="params must have the keys"):
            f(TOKEN_IDS, SEGMENT_IDS, {k: v for k, v in all_params.items() if k != missing}, config=CONFIG)
