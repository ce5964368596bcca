"""The bidirectional LSTM with real weights: Chinese characters and how they are pronounced in their sentence."""

import numpy as np
import pytest

from compare.cases import g2p_data
from refimpl.models.recurrent_tagger import recurrent_tagger

# The first sentence and its pronunciation are those of the package's own page.
PRONOUNCED = {
    "然而，他红了20年以后，他竟退出了大家的视线。":
    "ran2 er2 ， ta1 hong2 le5 2 0 nian2 yi3 hou4 ， ta1 jing4 tui4 chu1 le5 "
    "da4 jia1 de5 shi4 xian4 。",
    "银行的行长行走在长街上。": "yin2 xing2 de5 xing2 zhang3 xing2 zou3 zai4 chang2 jie1 shang4 。",
}


def name_classes(texts):
    """Pronounce a character by its dictionary where there is one way, by the network where there are several."""
    ids, lengths = g2p_data.numbered(texts)
    scores, _ = recurrent_tagger(ids, g2p_data.chinese_params(), lengths=lengths)
    dictionary = g2p_data.chinese_file("digest_cedict.pkl")
    names = {number: name for name, number in g2p_data.chinese_file("class2idx.pkl").items()}
    said = []
    for text, row in zip(texts, scores, strict=True):
        ways = [dictionary.get(sign, [sign]) for sign in text]
        said.append([names[row[i].argmax()] if len(way) > 1 else way[0] for i, way in enumerate(ways, start=1)])
    return said


def test_real_sentences_are_pronounced():
    assert dict(zip(PRONOUNCED, map(" ".join, name_classes(PRONOUNCED)), strict=True)) == PRONOUNCED


def test_a_sentence_sounds_the_same_among_others():
    alone = [name_classes([text])[0] for text in g2p_data.sentences()]
    assert name_classes(g2p_data.sentences()) == alone


def test_both_sides_matter():
    """The same character, after the same beginning: what follows decides."""
    said = {text: name_classes([text])[0][1] for text in ("他还了书", "他还想借")}
    scores = [
        recurrent_tagger(*(g2p_data.numbered([text])[:1]), g2p_data.chinese_params())[0][0, 2] for text in said
    ]
    assert not np.array_equal(*scores)


def test_bad_input_is_refused():
    params = g2p_data.chinese_params()
    with pytest.raises(ValueError, match=r"ids must lie in \[0, 5398\)"):
        recurrent_tagger(np.array([[5398]]), params)
    with pytest.raises(ValueError, match="params must have the keys"):
        recurrent_tagger(np.array([[1]]), {**params, "lstm.weight_ih_l1": np.ones((1, 1), np.float32)})
    with pytest.raises(ValueError, match="params must have keys below"):
        recurrent_tagger(np.array([[1]]), {**params, "norm.weight": np.ones(1, np.float32)})
