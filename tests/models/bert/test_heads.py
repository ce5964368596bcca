import numpy as np
import pytest

from refimpl.arrays import scope
from refimpl.models.bert.heads import (
    bert_for_pretraining,
    bert_for_sequence_classification,
    masked_token_head,
    pooler,
)
from refimpl.models.bert.model import bert
from tests.models.bert.small_bert import BACKBONE, CONFIG, FOR_CLASSIFICATION, FOR_PRETRAINING, SEGMENT_IDS, TOKEN_IDS

MODELS = pytest.mark.parametrize(
    ("f", "params"),
    [(bert_for_pretraining, FOR_PRETRAINING), (bert_for_sequence_classification, FOR_CLASSIFICATION)],
)
TABLE = "embeddings.token.weight"


def test_the_pooler_looks_at_the_first_token_only():
    x = np.array([[[0.0, 1e4], [5.0, 5.0]]])
    y, pullback = pooler(x, {"weight": np.eye(2), "bias": np.zeros(2)})
    np.testing.assert_array_equal(y, [[0, 1]])
    dx, dparams = pullback(np.array([[3.0, 3.0]]))
    np.testing.assert_array_equal(dx, [[[3, 0], [0, 0]]])
    np.testing.assert_array_equal(dparams["bias"], [3, 0])


def test_the_decoder_is_tied_to_the_token_table():
    """Both uses add up; the padding row gets the decoder's share alone."""
    (logits, _), pullback = bert_for_pretraining(TOKEN_IDS, SEGMENT_IDS, FOR_PRETRAINING, config=CONFIG)
    assert logits.shape == (2, 3, 7)
    dlogits = np.random.default_rng(0).standard_normal(logits.shape)
    (dparams,) = pullback((dlogits, np.zeros((2, 2))))

    states, bert_pullback = bert(TOKEN_IDS, SEGMENT_IDS, BACKBONE, config=CONFIG)
    head_params = scope(FOR_PRETRAINING, "mlm.") | {"decoder.weight": FOR_PRETRAINING[TABLE]}
    untied = {key: value for key, value in FOR_PRETRAINING.items() if key in BACKBONE}
    states, bert_pullback = bert(TOKEN_IDS, SEGMENT_IDS, untied, config=CONFIG)
    _, head_pullback = masked_token_head(states[-1], head_params)
    dlast, dhead = head_pullback(dlogits)
    (dbackbone,) = bert_pullback((*[None] * CONFIG.n_layer, dlast))
    np.testing.assert_array_equal(dparams[TABLE], dbackbone[TABLE] + dhead["decoder.weight"])
    np.testing.assert_array_equal(dparams[TABLE][CONFIG.pad_id], dhead["decoder.weight"][CONFIG.pad_id])
    assert np.all(dparams[TABLE][CONFIG.pad_id] != 0.0)


@MODELS
def test_gradients_keep_the_order_of_the_parameters(f, params):
    backwards = dict(reversed(params.items()))
    y, pullback = f(TOKEN_IDS, SEGMENT_IDS, backwards, config=CONFIG)
    assert list(pullback(y)[0]) == list(backwards)


@MODELS
def test_bad_params(f, params):
    some = np.ones((6, 6))
    for stranger in ("mlm.decoder.weight", "classifier.wieght", "pooler.weights", "cls.weight"):
        with pytest.raises(ValueError, match=f"params must have .*got .*{stranger}"):
            f(TOKEN_IDS, SEGMENT_IDS, params | {stranger: some}, config=CONFIG)
    for missing in params:
        if not missing.startswith("encoder.") or missing.endswith("weight"):
            with pytest.raises(ValueError, match="params must have the keys"):
                f(TOKEN_IDS, SEGMENT_IDS, {k: v for k, v in params.items() if k != missing}, config=CONFIG)
    with pytest.raises(TypeError, match="params must be a dict of arrays, got list"):
        f(TOKEN_IDS, SEGMENT_IDS, list(params.values()), config=CONFIG)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((2, 6)), r"x must have shape \(any, any, any\), got \(2, 6\)"),
        (np.ones((2, 0, 6)), "n_seq must be at least 1, got 0"),
        (np.ones((2, 3, 5)), r"x must have shape \(2, 6\), got \(2, 5\)"),
    ],
)
def test_a_bad_sequence_to_pool(x, message):
    with pytest.raises(ValueError, match=message):
        pooler(x, {"weight": np.eye(6), "bias": np.zeros(6)})


def test_a_bad_activation():
    x, params = np.ones((2, 6)), scope(FOR_PRETRAINING, "mlm.") | {"decoder.weight": FOR_PRETRAINING[TABLE]}
    with pytest.raises(ValueError, match=r"activation must be one of .*got 'swish'"):
        masked_token_head(x, params, activation="swish")
