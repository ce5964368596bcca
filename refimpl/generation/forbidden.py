"""Tokens that may not come, words that may not be completed, tokens that must come."""

import math

from refimpl.arrays import array_namespace, check_setting, integer


def forbid(logits, tokens):
    """Forbid tokens.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    tokens : sequence of int
        What may not come.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores, minus infinity for the tokens.

    Raises
    ------
    ValueError
        If there is no such token.
    """
    xp = array_namespace(logits)
    return xp.where(_named(tokens, logits)[None, :], -math.inf, logits)


def force(logits, tokens):
    """Allow nothing but some tokens.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    tokens : sequence of int
        One of them must come.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        0 for the tokens, minus infinity for all others: what the model thought of them no longer counts.

    Raises
    ------
    ValueError
        If there is no such token.
    """
    xp = array_namespace(logits)
    return xp.where(_named(tokens, logits)[None, :], 0.0 * xp.ones_like(logits), -math.inf)


def forbid_words(logits, token_ids, *, words, mask=None):
    """Forbid the last token of every bad word that the text has begun.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    token_ids : array of int, shape (n_batch, n_seq)
        The text so far.
    words : sequence of (sequence of int)
        The tokens of every bad word.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding, which is part of no word.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores, minus infinity for what is forbidden.

    Raises
    ------
    ValueError
        If a word is empty, or has a token that there is not.

    Notes
    -----
    `transformers` passes over a bad word that is an end-of-text token alone; here it is forbidden as any other.
    """
    xp = array_namespace(logits, token_ids, mask)
    forbidden = xp.zeros(logits.shape, dtype=xp.bool_)
    for word in words:
        check_setting("words", list(words), len(word) > 0, "words of one token at least")
        *beginning, end = (integer("a token of words", token, at_least=0, below=logits.shape[-1]) for token in word)
        begun = _ends_with(token_ids, beginning, mask)  # (n_batch, 1)
        forbidden = forbidden | (begun & (xp.arange(logits.shape[-1]) == end)[None, :])
    return xp.where(forbidden, -math.inf, logits)


def _ends_with(token_ids, tokens, mask):
    xp = array_namespace(token_ids, mask)
    n_batch, n_seq = token_ids.shape
    if len(tokens) > n_seq:
        return xp.zeros((n_batch, 1), dtype=xp.bool_)
    ends = xp.ones((n_batch, 1), dtype=xp.bool_)
    for i, token in enumerate(reversed(tokens), 1):
        ends = ends & (token_ids[:, n_seq - i : n_seq - i + 1] == token)
        ends = ends if mask is None else ends & mask[:, n_seq - i : n_seq - i + 1]
    return ends


def _named(tokens, logits):
    xp = array_namespace(logits)
    vocab_size = logits.shape[-1]
    named = xp.zeros((vocab_size,), dtype=xp.bool_)
    for token in tokens:
        named = named | (xp.arange(vocab_size) == integer("token", token, at_least=0, below=vocab_size))
    return named
