"""Vocabularies for a text of one's own: its characters, or byte pairs learned from it."""

import re
import sys

from refimpl.checkpoints.tokenizer import END, gpt2_tokenizer

UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def characters(text):
    """Take every character of a text for a token.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    tokenizers.Tokenizer
        Its characters in the order of Unicode, after one token for all others.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {character: i for i, character in enumerate([UNKNOWN, *sorted(set(text) - {UNKNOWN})])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def byte_pairs(text, vocab_size):
    """Learn byte pairs from a text.

    Parameters
    ----------
    text : str
        The text.
    vocab_size : int
        How many tokens at most: 256 bytes, the end of a text, and the pairs that are most frequent.

    Returns
    -------
    tokenizers.Tokenizer
        A tokenizer like that of GPT-2.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=sys.stderr.isatty(),
    )  # fmt: skip
    tokenizer.train_from_iterator(re.split(r"(?<=\n)", text), trainer)
    return tokenizer


def tokenizer_for(text, kind, vocab_size):
    """Choose a tokenizer.

    Parameters
    ----------
    text : str
        The text.
    kind : {"char", "bpe", "gpt2"}
        Characters, byte pairs of its own, or the byte pairs of GPT-2.
    vocab_size : int
        For ``"bpe"``, the number of tokens.

    Returns
    -------
    tokenizers.Tokenizer
        The tokenizer.
    """
    if kind == "gpt2":
        return gpt2_tokenizer()
    return characters(text) if kind == "char" else byte_pairs(text, vocab_size)
