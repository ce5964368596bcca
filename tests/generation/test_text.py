import numpy as np
import pytest

from refimpl.generation.text import pad_left, prompt


def test_prompts_are_padded_on_the_left():
    token_ids, mask = pad_left([[3, 4, 5], [7]], pad_id=9)
    assert token_ids.tolist() == [[3, 4, 5], [9, 9, 7]]
    assert mask.tolist() == [[True, True, True], [False, False, True]]
    assert token_ids.dtype.kind == "i"


def test_a_text_is_a_value():
    text = prompt(np.array([[1, 2]]))
    longer = text.followed_by(np.array([5]))
    assert (text.n_new, longer.n_new) == (0, 1)
    assert text.token_ids.tolist() == [[1, 2]]
    assert longer.written() == [[5]]


def test_what_was_written_has_no_padding():
    token_ids, mask = pad_left([[3, 4], [7]])
    text = prompt(token_ids, mask).followed_by(np.array([1, 2]))
    text = type(text)(text.token_ids, text.mask, np.array([True, False]), text.n_prompt).followed_by(np.array([0, 8]))
    assert text.written() == [[1], [2, 8]]
    assert text.rows(np.array([1, 1, 0])).written() == [[2, 8], [2, 8], [1]]


@pytest.mark.parametrize(
    ("token_ids", "mask", "error", "message"),
    [
        (np.zeros((2, 0), int), None, ValueError, "token_ids must be prompts of one token at least"),
        (np.zeros((2, 3)), None, TypeError, "token_ids must be an integer array, got dtype float64"),
        (np.zeros(3, int), None, ValueError, r"token_ids must have shape \(any, any\), got \(3,\)"),
        (np.zeros((1, 2), int), np.ones((1, 2)), TypeError, "mask must be a boolean array"),
        (np.zeros((1, 2), int), np.array([[True, False]]), ValueError, "mask must be padding on the left only"),
        (np.zeros((1, 3), int), np.array([[True, False, True]]), ValueError, "mask must be padding on the left only"),
        (np.zeros((1, 2), int), np.array([[False, False]]), ValueError, "mask must be padding on the left only"),
    ],
)
def test_prompts_that_cannot_be_followed_are_refused(token_ids, mask, error, message):
    with pytest.raises(error, match=message):
        prompt(token_ids, mask)


@pytest.mark.parametrize("prompts", [[], [[1], []]])
def test_nothing_is_no_prompt(prompts):
    with pytest.raises(ValueError, match="prompts must be one at least, and none of them empty"):
        pad_left(prompts)
