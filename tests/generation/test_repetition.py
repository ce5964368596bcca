import numpy as np
import pytest
import torch
from transformers.generation import logits_process as theirs

from compare.cases.bug import rewritten
from refimpl.generation.repetition import marked, no_repeat_ngram, repetition_penalty


def by_transformers(processor, token_ids, logits):
    return processor(torch.tensor(token_ids), torch.tensor(logits)).numpy()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("penalty", [1.0, 1.3, 0.7])
def test_repetition_penalty_is_that_of_transformers_to_the_bit(penalty, dtype, generator):
    logits = generator.normal(size=(4, 19)).astype(dtype)
    token_ids = generator.integers(0, 19, (4, 9))
    want = by_transformers(theirs.RepetitionPenaltyLogitsProcessor(penalty), token_ids, logits)
    got = repetition_penalty(logits, token_ids, penalty=penalty)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)


def test_a_token_is_penalised_once_and_padding_not_at_all():
    logits = np.array([[2.0, -2.0, 2.0, -2.0]])
    token_ids = np.array([[3, 0, 0, 1]])
    mask = np.array([[False, True, True, True]])
    assert repetition_penalty(logits, token_ids, penalty=2.0, mask=mask).tolist() == [[1.0, -4.0, 2.0, -2.0]]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_ngrams_are_those_of_transformers(n, generator):
    for n_seq in (1, 2, 4, 12, 30):
        logits = generator.normal(size=(6, 5))
        token_ids = generator.integers(0, 5, (6, n_seq))
        want = by_transformers(theirs.NoRepeatNGramLogitsProcessor(n), token_ids, logits)
        np.testing.assert_array_equal(no_repeat_ngram(logits, token_ids, n=n), want)


def test_an_ngram_with_padding_is_none():
    logits = np.zeros((1, 4))
    token_ids = np.array([[1, 2, 3, 1]])
    everything = no_repeat_ngram(logits, token_ids, n=2)
    assert np.isfinite(everything).tolist() == [[True, True, False, True]]
    padded = no_repeat_ngram(logits, token_ids, n=2, mask=np.array([[False, True, True, True]]))
    assert np.all(np.isfinite(padded))


def test_ids_beyond_the_vocabulary_are_passed_over():
    token_ids = np.array([[9, 1], [0, 12]])
    assert marked(token_ids, np.ones((2, 2), bool), 3).tolist() == [[False, True, False], [True, False, False]]


WRONG = {
    "negative logits divided, too": rewritten(repetition_penalty, "logits * penalty", "logits / penalty"),
    "padding has come": rewritten(
        repetition_penalty, "xp.ones(token_ids.shape, dtype=xp.bool_) if mask is None else mask",
        "xp.ones(token_ids.shape, dtype=xp.bool_)",
    ),
    "n-grams one shorter": rewritten(no_repeat_ngram, 'integer("n", n, at_least=1)', "max(n - 1, 1)"),
    "padding is part of n-grams": rewritten(no_repeat_ngram, "matches = matches & there[:, i : i + n_window]", "pass"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_rejected(name, generator):
    wrong = WRONG[name]
    right = {"repetition_penalty": repetition_penalty, "no_repeat_ngram": no_repeat_ngram}[wrong.__name__]
    setting = {"penalty": 1.5} if right is repetition_penalty else {"n": 3}
    logits, token_ids = generator.normal(size=(8, 4)), generator.integers(0, 4, (8, 10))
    mask = np.arange(10) >= np.arange(8)[:, None]
    outside = np.where(mask, token_ids, 4)  # of another vocabulary, so that it cannot count
    np.testing.assert_array_equal(
        right(logits, token_ids, **setting, mask=mask), right(logits, outside, **setting, mask=mask)
    )
    assert np.any(wrong(logits, token_ids, **setting, mask=mask) != right(logits, token_ids, **setting, mask=mask))


@pytest.mark.parametrize(
    ("rule", "setting", "message"),
    [
        (repetition_penalty, {"penalty": 0.0}, r"penalty must be in \[1e-06, 1e\+06\], got 0.0"),
        (no_repeat_ngram, {"n": 0}, "n must be at least 1, got 0"),
        (repetition_penalty, {"penalty": 2.0, "mask": np.ones((1, 3), bool)}, r"mask must have shape \(1, 2\)"),
    ],
)
def test_wrong_settings_are_refused(rule, setting, message):
    with pytest.raises(ValueError, match=message):
        rule(np.zeros((1, 4)), np.zeros((1, 2), int), **setting)
