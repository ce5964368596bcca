import numpy as np
import pytest

from refimpl.blocks.next_token_loss import next_token_loss
from refimpl.layers.linear import linear
from refimpl.models.gpt.heads import gpt_for_sequence_classification, gpt_lm, last_tokens
from refimpl.models.gpt.model import gpt
from tests.models.gpt.small_gpt import GPT1, GPT2, GPT3, LEFT, RIGHT, TOKEN_IDS, UNTIED, params, run
from tests.properties.rounding import assert_close

TABLE = "token.weight"
MODELS = pytest.mark.parametrize(
    ("f", "config", "head"),
    [
        (gpt_lm, GPT2, None),
        (gpt_lm, UNTIED, "head"),
        (gpt_for_sequence_classification, GPT1, "classifier"),
        (gpt_for_sequence_classification, GPT3, "classifier"),
    ],
)


def all_params(config, head):
    return params(config, head) if head else params(config)


@pytest.mark.parametrize("config", [GPT1, GPT2, GPT3])
def test_the_head_is_tied_to_the_token_table(config):
    """Both uses add up."""
    logits, pullback = gpt_lm(TOKEN_IDS, params(config), config=config)
    assert logits.shape == (2, 4, 7)
    dlogits = np.random.default_rng(0).standard_normal(logits.shape)
    (dparams,) = pullback(dlogits)
    states, gpt_pullback = gpt(TOKEN_IDS, params(config), config=config)
    _, head_pullback = linear(states[-1], {"weight": params(config)[TABLE]})
    dlast, dhead = head_pullback(dlogits)
    (dbackbone,) = gpt_pullback((*[None] * config.n_layer, dlast))
    np.testing.assert_array_equal(dparams[TABLE], dbackbone[TABLE] + dhead["weight"])


def test_a_head_of_its_own_with_the_numbers_of_the_table_scores_alike():
    tied = params(GPT2)
    untied = tied | {"head.weight": tied[TABLE]}
    logits, pullback = gpt_lm(TOKEN_IDS, tied, config=GPT2)
    same, untied_pullback = gpt_lm(TOKEN_IDS, untied, config=UNTIED)
    np.testing.assert_array_equal(same, logits)
    (dtied,), (duntied,) = pullback(logits), untied_pullback(logits)
    np.testing.assert_array_equal(duntied[TABLE] + duntied["head.weight"], dtied[TABLE])


def test_the_loss_of_a_model_that_knows_nothing_is_that_of_a_fair_die():
    blank = params(GPT2) | {TABLE: np.zeros((7, 6))}
    logits, _ = gpt_lm(TOKEN_IDS, blank, config=GPT2)
    loss, _ = next_token_loss(logits, TOKEN_IDS)
    assert abs(loss - np.log(7)) <= np.spacing(np.log(7))


def test_the_last_token_is_found_on_either_side():
    np.testing.assert_array_equal(last_tokens(TOKEN_IDS), [3, 3])
    np.testing.assert_array_equal(last_tokens(TOKEN_IDS, mask=LEFT), [3, 3])
    np.testing.assert_array_equal(last_tokens(TOKEN_IDS, mask=RIGHT), [3, 1])
    with_a_gap = np.array([[True, False, True, False], [False] * 4])
    np.testing.assert_array_equal(last_tokens(TOKEN_IDS, mask=with_a_gap), [2, 0])


@pytest.mark.parametrize("config", [GPT1, GPT2, GPT3])
def test_a_class_does_not_depend_on_the_side_of_the_padding(config):
    classify = gpt_for_sequence_classification
    alone, sigmas = run(classify, config, "classifier", token_ids=TOKEN_IDS[1:, :2])
    for mask in (LEFT, RIGHT):
        token_ids = np.zeros_like(TOKEN_IDS)
        token_ids[mask] = [*TOKEN_IDS[0], *TOKEN_IDS[1, :2]]
        y, _ = classify(token_ids, params(config, "classifier"), config=config, mask=mask)
        assert_close(y[1], alone[0], sigmas["y"][0], name="logits")


def test_only_texts_that_have_a_gradient_train_their_tokens():
    _, pullback = gpt_for_sequence_classification(TOKEN_IDS, params(GPT2, "classifier"), config=GPT2, mask=RIGHT)
    (dparams,) = pullback(np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 3.0]]))
    np.testing.assert_array_equal(np.any(dparams[TABLE] != 0.0, axis=1), np.isin(np.arange(7), TOKEN_IDS[1, :2]))


@MODELS
def test_gradients_keep_the_order_of_the_parameters(f, config, head):
    backwards = dict(reversed(all_params(config, head).items()))
    y, pullback = f(TOKEN_IDS, backwards, config=config)
    assert list(pullback(y)[0]) == list(backwards)


@MODELS
def test_bad_params(f, config, head):
    good = all_params(config, head)
    for stranger in ("head.bias", "classifier.bias", "embeddings.weight", "layers.2.norm1.weight"):
        with pytest.raises(ValueError, match=f"params must have .*got .*{stranger}"):
            f(TOKEN_IDS, good | {stranger: np.ones(6)}, config=config)
    for missing in good:
        if good[missing].ndim == 2:
            with pytest.raises(ValueError, match="params must have the keys"):
                f(TOKEN_IDS, {key: value for key, value in good.items() if key != missing}, config=config)
    with pytest.raises(TypeError, match="params must be a dict of arrays, got list"):
        f(TOKEN_IDS, list(good.values()), config=config)
    with pytest.raises(ValueError, match="config must be a GptConfig"):
        f(TOKEN_IDS, good, config="gpt2")


def test_a_tied_model_takes_no_head():
    with pytest.raises(ValueError, match=r"params must have .*got head\.weight"):
        gpt_lm(TOKEN_IDS, params(UNTIED, "head"), config=GPT2)
