import numpy as np
import pytest

from refimpl.arrays import scope
from refimpl.layers.layer_norm import layer_norm
from refimpl.models.bert.model import bert, bert_embeddings
from tests.models.bert.small_bert import BACKBONE, CONFIG, EMBEDDINGS, SEGMENT_IDS, TOKEN_IDS

BOTH = pytest.mark.parametrize(("f", "params"), [(bert, BACKBONE), (bert_embeddings, EMBEDDINGS)])


def test_embeddings_are_sums_of_three_rows():
    y, _ = bert_embeddings(TOKEN_IDS, SEGMENT_IDS, EMBEDDINGS, config=CONFIG)
    summed = (
        EMBEDDINGS["token.weight"][TOKEN_IDS]
        + EMBEDDINGS["segment.weight"][SEGMENT_IDS]
        + EMBEDDINGS["position.weight"][:3]
    )
    np.testing.assert_array_equal(y, layer_norm(summed, scope(EMBEDDINGS, "norm."), eps=1e-12)[0])


def test_states_begin_with_the_embeddings():
    states, _ = bert(TOKEN_IDS, SEGMENT_IDS, BACKBONE, config=CONFIG)
    assert len(states) == CONFIG.n_layer + 1
    embedded, _ = bert_embeddings(TOKEN_IDS, SEGMENT_IDS, EMBEDDINGS, config=CONFIG)
    np.testing.assert_array_equal(states[0], embedded)


@BOTH
def test_the_row_of_the_padding_token_is_never_trained(f, params):
    y, pullback = f(TOKEN_IDS, SEGMENT_IDS, params, config=CONFIG)
    dy = tuple(np.random.default_rng(0).standard_normal(state.shape) for state in y) if f is bert else y * y
    (dparams,) = pullback(dy)
    (table,) = (gradient for key, gradient in dparams.items() if key.endswith("token.weight"))
    np.testing.assert_array_equal(np.any(table != 0.0, axis=1), [False, False, True, True, True, False, True])


def test_no_sentences():
    empty = np.zeros((0, 3), np.int64)
    states, pullback = bert(empty, empty, BACKBONE, config=CONFIG)
    assert states[-1].shape == (0, 3, 6)
    assert all(not np.any(gradient) for gradient in pullback(states)[0].values())


@BOTH
@pytest.mark.parametrize(
    ("token_ids", "segment_ids", "error", "message"),
    [
        (TOKEN_IDS + 1, SEGMENT_IDS, ValueError, r"ids must lie in \[0, 7\), got values from 2 to 7"),
        (TOKEN_IDS, SEGMENT_IDS - 1, ValueError, r"ids must lie in \[0, 2\), got values from -1 to 0"),
        (TOKEN_IDS[0], SEGMENT_IDS, ValueError, r"token_ids must have shape \(any, any\), got \(3,\)"),
        (TOKEN_IDS, SEGMENT_IDS[:, :2], ValueError, r"segment_ids must have shape \(2, 3\), got \(2, 2\)"),
        (np.tile(TOKEN_IDS, 2), np.tile(SEGMENT_IDS, 2), ValueError, "at most 5, the number of positions, got 6"),
        (TOKEN_IDS * 1.0, SEGMENT_IDS, TypeError, "ids must be an integer array, got dtype float64"),
        (TOKEN_IDS.tolist(), SEGMENT_IDS, TypeError, "expected an array, got"),
    ],
)
def test_bad_ids(f, params, token_ids, segment_ids, error, message):
    with pytest.raises(error, match=message):
        f(token_ids, segment_ids, params, config=CONFIG)


@BOTH
def test_bad_params(f, params):
    stranger = next(iter(params.values()))
    with pytest.raises(ValueError, match=r"params must have .*got .*pooler\.weight"):
        f(TOKEN_IDS, SEGMENT_IDS, params | {"pooler.weight": stranger}, config=CONFIG)
    with pytest.raises(ValueError, match="params must have the keys"):
        f(TOKEN_IDS, SEGMENT_IDS, {k: v for k, v in params.items() if "segment" not in k}, config=CONFIG)
    narrow = {key: value.astype(np.float32) if "segment" in key else value for key, value in params.items()}
    with pytest.raises(TypeError, match=r"segment.* must have the dtype of .*, float64, got float32"):
        f(TOKEN_IDS, SEGMENT_IDS, narrow, config=CONFIG)


def test_a_bad_mask():
    with pytest.raises(ValueError, match=r"mask must broadcast to \(2, 2, 3, 3\), got \(2, 1, 1, 4\)"):
        bert(TOKEN_IDS, SEGMENT_IDS, BACKBONE, config=CONFIG, mask=np.ones((2, 1, 1, 4), bool))
