"""The real models and the real words of the recurrent cases: English and Chinese spelling to pronunciation."""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np

from refimpl.checkpoints.files.npz import read_npz
from refimpl.checkpoints.files.trusted_pickle import read_trusted_pickle

DATA = Path(__file__).parent / "data"
ENGLISH, CHINESE = "g2p_en", "g2pM"
HINTS = {ENGLISH: "pip install --no-deps g2p-en==2.1.0", CHINESE: "pip install g2pM==0.1.2.5"}
# The files of g2pM 0.1.2.5, looked into and found to hold numbers and texts alone.
TRUSTED = {
    "np_ckpt.pkl": "5b38c21cbaeb5f9b2f5d0bf872487de0fc22f91a3b26189b7d998136d2c8d3ae",
    "char2idx.pkl": "e41861f3af2debb342d3555d970db47b22e5d35c8e0190722dfb9b39c941988c",
    "class2idx.pkl": "b17a497ee9618e6d5c2f7814ab7f847d80a3cb757e92423774781e4d3dc56c49",
    "digest_cedict.pkl": "71e727a041a1d7023a1fbe32bbc23d5f4aa85a9d67fe4d6502fc398ef30b875c",
}

GRAPHEMES = ["<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
PHONEMES = (
    "<pad> <unk> <s> </s> AA0 AA1 AA2 AE0 AE1 AE2 AH0 AH1 AH2 AO0 AO1 AO2 AW0 AW1 AW2 AY0 AY1 AY2 B CH D DH EH0 EH1 "
    "EH2 ER0 ER1 ER2 EY0 EY1 EY2 F G HH IH0 IH1 IH2 IY0 IY1 IY2 JH K L M N NG OW0 OW1 OW2 OY0 OY1 OY2 P R S SH T TH "
    "UH0 UH1 UH2 UW UW0 UW1 UW2 V W Y Z ZH"
).split()
UNKNOWN, END_OF_WORD, START, END = 1, 2, 2, 3
ENGLISH_NAMES = {
    "encoder.embedding.weight": "enc_emb",
    **{f"encoder.gru.{a}_{b}_l0": f"enc_{a[0]}_{b}" for a in ("weight", "bias") for b in ("ih", "hh")},
    "decoder.embedding.weight": "dec_emb",
    **{f"decoder.gru.{a}_{b}_l0": f"dec_{a[0]}_{b}" for a in ("weight", "bias") for b in ("ih", "hh")},
    "projection.weight": "fc_w",
    "projection.bias": "fc_b",
}


def folder_of(package):
    """Find a package's folder without importing it: its code wants dictionaries, and reads pickles."""
    found = importlib.util.find_spec(package)
    if found is None:
        raise ModuleNotFoundError(f"this case needs the weights of {package}: {HINTS[package]}")
    return Path(found.origin).parent


@cache
def english_params():
    """Load the two GRUs of g2p-en under our names."""
    arrays = read_npz(folder_of(ENGLISH) / "checkpoint20.npz")
    return {name: arrays[theirs] for name, theirs in ENGLISH_NAMES.items()}


@cache
def chinese_file(name):
    """Read one of the pickles of g2pM, if it is the one that was looked into."""
    return read_trusted_pickle(folder_of(CHINESE) / name, sha256=TRUSTED[name])


def chinese_params():
    """Load the bidirectional LSTM of g2pM, whose names are ours."""
    return chinese_file("np_ckpt.pkl")


def words():
    return (DATA / "words.txt").read_text(encoding="utf-8").split()


def sentences():
    return (DATA / "polyphones.txt").read_text(encoding="utf-8").splitlines()


def spelled(some_words):
    """Return the letters of words as ids, each word ended by ``</s>``, and the lengths."""
    ids = [[GRAPHEMES.index(letter) if letter in GRAPHEMES else UNKNOWN for letter in word] for word in some_words]
    return side_by_side([[*letters, END_OF_WORD] for letters in ids])


def pronounced(ids):
    """Name phonemes, up to the end of the word."""
    names = [PHONEMES[i] for i in ids]
    return names[: names.index("</s>")] if "</s>" in names else names


def numbered(some_sentences):
    """Return the characters of sentences as ids, between signs for start and end, and the lengths."""
    table = chinese_file("char2idx.pkl")
    return side_by_side([[table.get(sign, table["<UNK>"]) for sign in f"시{text}끝"] for text in some_sentences])


def side_by_side(sequences):
    lengths = np.array([len(sequence) for sequence in sequences])
    ids = np.zeros((len(sequences), lengths.max()), np.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return ids, lengths
