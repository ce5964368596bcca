import numpy as np
import pytest

from refimpl.generation import Stop, greedy, last
from refimpl.generation.stop import with_ends
from refimpl.generation.text import prompt
from tests.generation.toy import Toy


def spell(tokens):
    return "".join("abcdefghij"[token] for token in tokens)


def test_a_text_ends_at_its_end_token_and_stays_ended():
    stop = Stop(eos_ids=(0, 5))
    text = prompt(np.array([[0], [0], [1]])).followed_by(np.array([5, 3, 0]))
    assert with_ends(text, stop).tolist() == [True, False, True]


def test_a_text_ends_where_a_string_is_complete():
    stop = Stop(strings=("bad", "ff"), to_string=spell)
    assert [stop.ends(tokens) for tokens in ([1], [1, 0], [1, 0, 3], [5, 5], [5])] == [False, False, True, True, False]


def test_a_string_may_end_within_a_token():
    stop = Stop(strings=("b",), to_string=lambda tokens: "abc" * len(tokens))
    assert stop.ends([0])


def test_a_string_of_the_prompt_does_not_count():
    token_ids = np.array([[1, 0, 3]])
    free = last(greedy(Toy().model(), token_ids, stop=Stop(max_new_tokens=4))).written()[0]
    stop = Stop(max_new_tokens=4, strings=(spell([3, free[0]]), spell(free[:2])), to_string=spell)
    assert last(greedy(Toy().model(), token_ids, stop=stop)).written()[0] == free[:2]


def test_the_length_is_the_smaller_one():
    assert Stop(max_new_tokens=5).n_new(3) == 5
    assert Stop(max_new_tokens=5, max_length=6).n_new(3) == 3
    with pytest.raises(ValueError, match="max_length must be longer than the prompt, which has 6 tokens, got 6"):
        Stop(max_length=6).n_new(6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1, got 0"),
        ({"max_length": 0}, "max_length must be at least 1, got 0"),
        ({"eos_ids": 3}, "eos_ids must be a tuple of tokens, got 3"),
        ({"eos_ids": ("end",)}, "eos_ids must be an integer, got 'end'"),
        ({"strings": ("x", "")}, "strings must be a tuple of strings that are not empty"),
        ({"strings": ("x",)}, "to_string must be a function from tokens to a string, for stop strings, got None"),
        ({"pad_id": -1}, "pad_id must be at least 0, got -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Stop(**settings)


def test_what_reads_tokens_is_a_function():
    with pytest.raises(ValueError, match=r"to_string must be a function from tokens to a string, .* got 3"):
        Stop(strings=("a",), to_string=3)
