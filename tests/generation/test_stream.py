import numpy as np

from refimpl.generation import Stop, greedy, last, pieces, sample
from refimpl.generation.text import prompt
from tests.generation.toy import PROMPTS, Toy


def texts_of(*tokens):
    text = prompt(np.array([[9]]))
    for token in tokens:
        text = text.followed_by(np.array([token]))
        yield text


def to_string(tokens):
    return bytes(tokens).decode("utf-8", errors="replace")


def test_joined_pieces_are_the_string():
    for row in range(len(PROMPTS)):
        texts = list(greedy(Toy().model(), np.array([[1, 2], [3, 4], [5, 6]]), stop=Stop(max_new_tokens=6)))
        joined = "".join(pieces(iter(texts), lambda tokens: "".join(map(chr, (97 + t for t in tokens))), row=row))
        assert joined == "".join(chr(97 + token) for token in texts[-1].written()[row])


def test_a_character_comes_whole():
    tokens = "é—x".encode()
    assert list(pieces(texts_of(*tokens), to_string)) == ["é", "—", "x"]


def test_what_stays_broken_comes_at_the_end():
    assert list(pieces(texts_of(*b"a\xe2\x80"), to_string)) == ["a", "\N{REPLACEMENT CHARACTER}"]


def test_nothing_gives_nothing():
    assert list(pieces(iter(()), to_string)) == []


def test_streaming_does_not_run_ahead():
    toy = Toy()
    texts = sample(toy.model(), np.array([[1, 2]]), np.random.default_rng(0), stop=Stop(max_new_tokens=50))
    next(texts)
    assert toy.n_token_read == 2
    assert last(texts).n_new == 50
