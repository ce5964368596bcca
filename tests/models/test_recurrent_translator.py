"""The sequence-to-sequence network with real weights: English words and how they are pronounced."""

import numpy as np
import pytest

from compare.cases import g2p_data
from refimpl.models.recurrent_translator import recurrent_translator, translate

PRONOUNCED = {
    "activationist": "AE2 K T IH0 V EY1 SH AH0 N IH0 S T",  # as the package's own page has it
    "refuse": "R IY0 F Y UW1 Z",
    "transformer": "T R AE0 N S F AO1 R M ER0",
    "attention": "AH0 T EH1 N SH AH0 N",
    "cat": "K AE1 T",
}


def original_inference(word, params):
    """What g2p-en 2.1.0 does: one word, NumPy, float32, until the end of the word or 20 phonemes."""

    def grucell(x, h, which):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        w_ih, w_hh, b_ih, b_hh = (params[f"{which}.gru.{name}_l0"] for name in names)
        rzn_ih, rzn_hh = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
        r, z = np.split(1 / (1 + np.exp(-(rzn_ih[:, :512] + rzn_hh[:, :512]))), 2, -1)
        n = np.tanh(rzn_ih[:, 512:] + r * rzn_hh[:, 512:])
        return (1 - z) * n + z * h

    letters = [*(g2p_data.GRAPHEMES.index(letter) for letter in word), 2]
    h = np.zeros((1, 256), np.float32)
    for letter in letters:
        h = grucell(params["encoder.embedding.weight"][[letter]], h, "encoder")
    said = [2]
    while len(said) <= 20:
        h = grucell(params["decoder.embedding.weight"][[said[-1]]], h, "decoder")
        said.append(int((h @ params["projection.weight"].T + params["projection.bias"]).argmax()))
        if said[-1] == 3:
            break
    return g2p_data.pronounced(said[1:])


def ours(some_words):
    ids, lengths = g2p_data.spelled(some_words)
    written = translate(ids, g2p_data.english_params(), start_id=g2p_data.START, n_target=20, lengths=lengths)
    return [g2p_data.pronounced(row) for row in written]


def test_real_words_are_pronounced():
    """All at once, side by side: a word does not hear the padding of its neighbours."""
    assert dict(zip(PRONOUNCED, map(" ".join, ours(PRONOUNCED)), strict=True)) == PRONOUNCED


def test_it_says_what_the_original_says():
    words = g2p_data.words()
    assert ours(words) == [original_inference(word, g2p_data.english_params()) for word in words]


def test_the_scores_of_what_was_written_are_highest_for_what_comes_next():
    ids, lengths = g2p_data.spelled(["rhythm", "a"])
    params = g2p_data.english_params()
    written = translate(ids, params, start_id=g2p_data.START, n_target=6, lengths=lengths)
    target = np.concatenate([np.full((2, 1), g2p_data.START), written[:, :-1]], axis=1)
    scores, _ = recurrent_translator(ids, target, params, lengths=lengths)
    np.testing.assert_array_equal(scores.argmax(-1), written)


def test_bad_input_is_refused():
    params = g2p_data.english_params()
    ids = np.array([[3, 4, 2]])
    with pytest.raises(ValueError, match=r"source_ids must lie in \[0, 29\), got values from 4 to 29"):
        recurrent_translator(np.array([[4, 29]]), np.array([[2]]), params)
    with pytest.raises(ValueError, match=r"target_ids must have shape \(1, any\), got \(2, 1\)"):
        recurrent_translator(ids, np.array([[2], [2]]), params)
    with pytest.raises(ValueError, match="n_target must be positive, got 0"):
        translate(ids, params, start_id=2, n_target=0)
    with pytest.raises(ValueError, match="params must have keys below"):
        translate(ids, {**params, "decoder.norm.weight": np.ones(1)}, start_id=2, n_target=1)
