"""Against repetition: a penalty on tokens that have come, and a ban on n-grams that have come."""

import math

from refimpl.arrays import array_namespace, check_shape, integer, number, scatter_add

WEAKEST, STRONGEST = 1e-6, 1e6  # far beyond what says anything, and far from where products leave the numbers

def repetition_penalty(logits, token_ids, *, penalty, mask=None):
    """Make tokens that have come before less probable, whatever the sign of their logits.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    token_ids : array of int, shape (n_batch, n_seq)
        The text so far.
    penalty : float
        By what positive logits are divided, and negative ones multiplied, from a millionth to a million; 1 changes
        nothing.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding, which has not come.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The new scores.

    Raises
    ------
    ValueError
        If the penalty is out of range.

    Notes
    -----
    A token that has come twice is penalised once.  Ids beyond the vocabulary of the logits are passed over.

    References
    ----------
    Keskar et al. (2019), "CTRL", arXiv:1909.05858, section 4.1, where negative logits are divided, too, and so made
    more probable; `transformers` multiplies them, and so do we.
    """
    xp = array_namespace(logits, token_ids, mask)
    penalty = number("penalty", penalty, at_least=WEAKEST, at_most=STRONGEST)
    there = xp.ones(token_ids.shape, dtype=xp.bool_) if mask is None else mask
    has_come = marked(token_ids, there, logits.shape[-1])
    return xp.where(has_come, xp.where(logits < 0.0, logits * penalty, logits / penalty), logits)


def no_repeat_ngram(logits, token_ids, *, n, mask=None):
    """Forbid every token that would complete an n-gram that has come before.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    token_ids : array of int, shape (n_batch, n_seq)
        The text so far.
    n : int
        Length of the n-grams; 1 forbids every token that has come.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding, which is part of no n-gram.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        The scores, minus infinity for what is forbidden.

    Raises
    ------
    ValueError
        If n is no positive integer.

    References
    ----------
    Paulus, Xiong, Socher (2017), "A deep reinforced model for abstractive summarization", arXiv:1705.04304,
    section 2.5.
    """
    xp = array_namespace(logits, token_ids, mask)
    n = integer("n", n, at_least=1)
    n_seq = token_ids.shape[1]
    n_window = n_seq - n + 1
    if n_window < 1:
        return logits
    there = xp.ones(token_ids.shape, dtype=xp.bool_) if mask is None else mask
    matches = xp.ones((token_ids.shape[0], n_window), dtype=xp.bool_)
    for i in range(n):
        # The first n - 1 tokens of the window must be the last n - 1 of the text.
        matches = matches & there[:, i : i + n_window]
        if i < n - 1:
            matches = matches & (token_ids[:, i : i + n_window] == token_ids[:, n_seq - n + 1 + i][:, None])
    return xp.where(marked(token_ids[:, n - 1 :], matches, logits.shape[-1]), -math.inf, logits)


def marked(token_ids, chosen, vocab_size):
    """Mark in the vocabulary the tokens that are chosen in a text.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    chosen : array of bool, shape (n_batch, n_seq)
        True for those to be marked.
    vocab_size : int
        Size of the vocabulary; ids beyond it are passed over.

    Returns
    -------
    array of bool, shape (n_batch, vocab_size)
        True for every token that was chosen somewhere in the row.
    """
    xp = array_namespace(token_ids, chosen)
    check_shape("mask", chosen, token_ids.shape)
    n_batch = token_ids.shape[0]
    counted = chosen & (token_ids >= 0) & (token_ids < vocab_size)
    places = xp.where(counted, token_ids, 0) + vocab_size * xp.arange(n_batch)[:, None]
    counts = scatter_add(xp.reshape(places, (-1,)), xp.reshape(counted, (-1, 1)).astype(xp.float32),
                         n_batch * vocab_size)  # fmt: skip
    return xp.reshape(counts, (n_batch, vocab_size)) > 0.0
