import numpy as np
import pytest

from refimpl.attention.mask import blank_unattended, causal_mask, check_mask, length_mask, padding_mask

LIKE = np.zeros(1)


def test_causal_is_aligned_bottom_right():
    assert causal_mask(2, 4, like=LIKE).tolist() == [[True, True, True, False], [True, True, True, True]]


def test_causal_top_left_is_what_pytorch_does():
    assert causal_mask(2, 4, like=LIKE, align="top_left").tolist() == [[True] + [False] * 3, [True, True] + [False] * 2]


def test_causal_is_strict_nowhere():
    """Every position sees itself."""
    assert np.all(np.diagonal(causal_mask(5, 5, like=LIKE)))


@pytest.mark.parametrize(("n_query", "n_key"), [(0, 3), (3, 0), (0, 0)])
def test_causal_of_nothing(n_query, n_key):
    assert causal_mask(n_query, n_key, like=LIKE).shape == (n_query, n_key)


def test_true_means_token():
    is_token = length_mask(np.array([2, 0, 3]), 3)
    assert is_token.tolist() == [[True, True, False], [False] * 3, [True] * 3]
    mask = padding_mask(is_token)
    assert mask.shape == (3, 1, 1, 3)
    np.testing.assert_array_equal(mask[:, 0, 0], is_token)


def test_masks_combine_with_and():
    mask = causal_mask(3, 3, like=LIKE) & padding_mask(length_mask(np.array([2]), 3))
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]


def test_blanking_needs_every_query():
    mask = np.array([[True, False, False], [False, True, False]])
    x = np.array([[1.0], [2.0], [np.nan]])
    np.testing.assert_array_equal(blank_unattended(x, mask, axis=-2), [[1], [2], [0]])
    assert blank_unattended(x, None, axis=-2) is x


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: causal_mask(2, 2, like=LIKE, align="x"), ValueError, "align must be bottom_right or top_left, got"),
        (lambda: padding_mask(np.ones((2, 3))), TypeError, "is_token must be a boolean array .*, got dtype float64"),
        (lambda: padding_mask(np.ones(3, bool)), ValueError, r"is_token must have shape \(any, any\), got \(3,\)"),
        (lambda: length_mask(np.ones((2, 1), int), 3), ValueError, r"lengths must have shape \(any,\), got \(2, 1\)"),
        (lambda: length_mask(np.array([4]), 3), ValueError, r"lengths must lie in \[0, 4\), got values from 4 to 4"),
        (lambda: length_mask(np.array([-1]), 3), ValueError, r"lengths must lie in \[0, 4\), got values from -1"),
        (lambda: length_mask(np.array([1.0]), 3), TypeError, "lengths must be an integer array, got dtype float64"),
        (lambda: check_mask(np.ones((2, 3)), (2, 3)), TypeError, "mask must be a boolean.*float64.*bias"),
        (lambda: check_mask(np.ones(3, bool), (2, 3)), ValueError, "mask must have at least 2 axes, got shape"),
        (lambda: check_mask(np.ones((3, 3), bool), (2, 3)), ValueError, r"must broadcast to \(2, 3\), got \(3, 3\)"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
