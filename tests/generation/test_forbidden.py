import numpy as np
import pytest
import torch
from transformers.generation import logits_process as theirs

from refimpl.generation.forbidden import forbid, forbid_words, force

WORDS = [[3], [1, 2], [4, 0, 1], [1, 3, 2]]


def by_transformers(processor, token_ids, logits):
    return processor(torch.tensor(token_ids), torch.tensor(logits)).numpy()


def test_bad_words_are_those_of_transformers(generator):
    for n_seq in (1, 2, 7):
        logits, token_ids = generator.normal(size=(64, 5)), generator.integers(0, 5, (64, n_seq))
        processor = theirs.NoBadWordsLogitsProcessor(WORDS)
        np.testing.assert_array_equal(
            forbid_words(logits, token_ids, words=WORDS), by_transformers(processor, token_ids, logits)
        )


def test_a_word_does_not_begin_in_the_padding():
    logits, token_ids, mask = np.zeros((1, 5)), np.array([[4, 0]]), np.array([[False, True]])
    assert np.isfinite(forbid_words(logits, token_ids, words=[[4, 0, 1]])).tolist() == [[True, False, True, True, True]]
    assert np.all(np.isfinite(forbid_words(logits, token_ids, words=[[4, 0, 1]], mask=mask)))


def test_suppressed_tokens_are_those_of_transformers(generator):
    logits = generator.normal(size=(3, 6))
    want = by_transformers(theirs.SuppressTokensLogitsProcessor([1, 4]), np.zeros((3, 2), int), logits)
    np.testing.assert_array_equal(forbid(logits, [1, 4]), want)
    np.testing.assert_array_equal(forbid(logits, []), logits)


def test_a_forced_token_is_the_only_one(generator):
    logits = generator.normal(size=(3, 6))
    want = by_transformers(theirs.ForcedBOSTokenLogitsProcessor(4), np.zeros((3, 1), int), logits)
    np.testing.assert_array_equal(force(logits, [4]), want)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: forbid(x, [6]), r"token must be in \[0, 6\), got 6"),
        (lambda x: force(x, [-1]), r"token must be in \[0, 6\), got -1"),
        (lambda x: forbid_words(x, np.zeros((1, 1), int), words=[[]]), "words must be words of one token at least"),
        (lambda x: forbid_words(x, np.zeros((1, 1), int), words=[[0, 7]]), r"a token of words must be in \[0, 6\)"),
    ],
)
def test_tokens_that_are_not_there_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.zeros((1, 6)))
