import numpy as np
import pytest

from refimpl.arrays import narrow
from refimpl.generation import Constraints, Stop, greedy, last
from refimpl.generation.constraints import check_some_token
from refimpl.generation.text import prompt
from tests.generation.toy import PROMPTS, Toy

STOP = Stop(max_new_tokens=4, eos_ids=(0,))


def allowed(constraints, text, logits=None):
    logits = np.zeros((1, 6)) if logits is None else logits
    return np.flatnonzero(np.isfinite(constraints.apply(logits, text, STOP)[0])).tolist()


def after(*tokens):
    text = prompt(np.array([[5]]))
    for token in tokens:
        text = text.followed_by(np.array([token]))
    return text


def test_rules_know_where_the_text_stands():
    rules = Constraints(suppressed=(1,), suppressed_first=(2,), forced_last=0)
    assert allowed(rules, after()) == [0, 3, 4, 5]
    assert allowed(rules, after(3)) == [0, 2, 3, 4, 5]
    assert allowed(rules, after(3, 3, 3)) == [0]
    assert allowed(Constraints(forced_first=4), after()) == [4]
    assert len(allowed(Constraints(forced_first=4), after(4))) == 6
    assert allowed(Constraints(forced_last=(2, 5)), after(3, 3, 3)) == [2, 5]


def test_what_may_not_come_first_may_not_follow_a_forced_beginning():
    rules = Constraints(forced_first=4, suppressed_first=(4, 5))
    assert [allowed(rules, after(*[4] * n)) for n in range(3)] == [[4], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]


def test_the_end_may_not_come_too_early():
    may_end = [0 in allowed(Constraints(min_new_tokens=2), after(*[3] * n)) for n in range(4)]
    assert may_end == [False, False, True, True]


def test_a_rule_of_ones_own_comes_last():
    def nothing_twice(logits, text):
        return np.where(np.arange(6) == text.token_ids[:, -1:], -np.inf, logits)

    assert allowed(Constraints(more=(nothing_twice,)), after(3)) == [0, 1, 2, 4, 5]


def test_sixteen_bits_become_float32():
    logits = Constraints().apply(narrow(np.zeros((1, 6)), "bfloat16"), after(), STOP)
    assert logits.dtype == np.float32


def test_where_no_token_is_left_the_row_is_named():
    nothing = Constraints(suppressed=tuple(range(7)))
    with pytest.raises(ValueError, match="finite for one token at least, got 'none in row 0 after 0 tokens'"):
        last(greedy(Toy().model(), np.array(PROMPTS[:1]), constraints=nothing))
    with pytest.raises(ValueError, match="row 1"):
        check_some_token(np.array([[0.0, 1.0], [0.0, np.nan]]), prompt(np.array([[1], [1]])))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repetition_penalty": 0.0}, r"repetition_penalty must be in \[1e-06, 1e\+06\], got 0.0"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram must be at least 0"),
        ({"min_new_tokens": 1.5}, "min_new_tokens must be an integer"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Constraints(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"suppressed": 3}, "suppressed must be a tuple, got 3"),
        ({"bad_words": (3,)}, r"bad_words must be a tuple of words, each a tuple of tokens, got \(3,\)"),
    ],
)
def test_what_is_no_sequence_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Constraints(**settings)
