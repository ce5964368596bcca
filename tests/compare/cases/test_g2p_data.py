import importlib.util

import numpy as np
import pytest

from compare.cases import g2p_data


def test_letters_have_numbers_and_words_an_end():
    ids, lengths = g2p_data.spelled(["ab", "é", "cat"])
    assert ids.tolist() == [[3, 4, 2, 0], [1, 2, 0, 0], [5, 3, 22, 2]]
    assert lengths.tolist() == [3, 2, 4]


def test_a_pronunciation_ends_at_its_end():
    assert g2p_data.pronounced([22, 23, 3, 24]) == ["B", "CH"]
    assert g2p_data.pronounced([22, 23]) == ["B", "CH"]


def test_an_unknown_sign_has_the_number_of_the_unknown():
    ids, lengths = g2p_data.numbered(["行☃"])
    table = g2p_data.chinese_file("char2idx.pkl")
    assert ids.tolist() == [[table["시"], table["行"], table["<UNK>"], table["끝"]]]
    assert lengths.tolist() == [4]


def test_weights_are_single_precision():
    for params in (g2p_data.english_params(), g2p_data.chinese_params()):
        assert {x.dtype for x in params.values()} == {np.dtype(np.float32)}


def test_a_package_that_is_absent_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for package in (g2p_data.ENGLISH, g2p_data.CHINESE):
        with pytest.raises(ModuleNotFoundError, match=f"needs the weights of {package}: pip install"):
            g2p_data.folder_of(package)
