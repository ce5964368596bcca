"""The page of the vocabulary shows every word."""

from readalong.source import module_path
from readalong.words import grouped_words

from refimpl.arrays import VOCABULARY


def test_all_words_are_shown_with_their_promises():
    groups = grouped_words(module_path("refimpl.arrays.vocabulary"))
    assert {word: promise for _, words in groups for word, promise in words} == VOCABULARY
    assert groups[0][0] == "elementwise"
