"""What may come next, given what has come: the rules that hold for every method of generation."""

from dataclasses import dataclass

from refimpl.arrays import array_namespace, check_setting, integer, number, widen
from refimpl.generation.forbidden import forbid, forbid_words, force
from refimpl.generation.repetition import STRONGEST, WEAKEST, no_repeat_ngram, repetition_penalty


@dataclass(frozen=True)
class Constraints:
    """Rules on the next token, applied in this order.

    Attributes
    ----------
    repetition_penalty : float
        See `refimpl.generation.repetition.repetition_penalty`; 1 is none.
    no_repeat_ngram : int
        Length of the n-grams that may not come twice; 0 allows all.
    bad_words : tuple of (tuple of int)
        Sequences of tokens that may not come.
    min_new_tokens : int
        So many tokens come before the text may end.
    forced_first : int or None
        The first token that is written.
    forced_last : int, tuple of int or None
        The token that is written where the longest text would end, or those of which one is.
    suppressed : tuple of int
        Tokens that may never come.
    suppressed_first : tuple of int
        Tokens that may not come first, or first after `forced_first`.
    more : tuple of callable
        Rules of your own: ``rule(logits, text) -> logits``.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Notes
    -----
    `transformers` calls them ``repetition_penalty``, ``no_repeat_ngram_size``, ``bad_words_ids``, ``min_new_tokens``,
    ``forced_bos_token_id`` (which acts only on a prompt of one token), ``forced_eos_token_id``, ``suppress_tokens``,
    ``begin_suppress_tokens`` and ``logits_processor``, and applies them in this order; padding counts there as text.
    """

    repetition_penalty: float = 1.0
    no_repeat_ngram: int = 0
    bad_words: tuple = ()
    min_new_tokens: int = 0
    forced_first: int | None = None
    forced_last: int | tuple | None = None
    suppressed: tuple = ()
    suppressed_first: tuple = ()
    more: tuple = ()

    def __post_init__(self):
        number("repetition_penalty", self.repetition_penalty, at_least=WEAKEST, at_most=STRONGEST)
        integer("no_repeat_ngram", self.no_repeat_ngram, at_least=0)
        integer("min_new_tokens", self.min_new_tokens, at_least=0)
        for name in ("suppressed", "suppressed_first", "more", "bad_words"):
            check_setting(name, getattr(self, name), isinstance(getattr(self, name), tuple | list), "a tuple")
        words = all(isinstance(word, tuple | list) for word in self.bad_words)
        check_setting("bad_words", self.bad_words, words, "a tuple of words, each a tuple of tokens")

    def apply(self, logits, text, stop):
        """Change the scores of the next token.

        Parameters
        ----------
        logits : array, shape (n_batch, vocab_size)
            Scores of the next token: logits or, in beam search, logarithms of probabilities.
        text : Text
            What was written so far.
        stop : Stop
            When texts end.

        Returns
        -------
        array, shape (n_batch, vocab_size)
            The new scores, minus infinity for what may not come; in float32 where the logits were narrower.
        """
        array_namespace(logits, text.token_ids)
        is_first, is_last = text.n_new == 0, text.n_new == stop.n_new(text.n_prompt) - 1
        past = {"token_ids": text.token_ids, "mask": text.mask}
        logits = widen(logits)
        if self.repetition_penalty != 1.0:
            logits = repetition_penalty(logits, **past, penalty=self.repetition_penalty)
        if self.no_repeat_ngram:
            logits = no_repeat_ngram(logits, **past, n=self.no_repeat_ngram)
        if self.bad_words:
            logits = forbid_words(logits, **past, words=self.bad_words)
        if text.n_new < self.min_new_tokens:
            logits = forbid(logits, stop.eos_ids)
        if self.forced_first is not None and is_first:
            logits = force(logits, [self.forced_first])
        if self.forced_last is not None and is_last:
            logits = force(logits, self.forced_last if isinstance(self.forced_last, tuple) else [self.forced_last])
        is_free_first = text.n_new == (0 if self.forced_first is None else 1)
        logits = forbid(logits, (*self.suppressed, *(self.suppressed_first if is_free_first else ())))
        for rule in self.more:
            logits = rule(logits, text)
        return logits


def check_some_token(logits, text):
    """Require that every text can go on.

    Parameters
    ----------
    logits : array, shape (n_batch, vocab_size)
        Scores of the next token.
    text : Text
        What was written so far.

    Raises
    ------
    ValueError
        If in a row that has not ended no token is left, or the model gave NaN.
    """
    xp = array_namespace(logits)
    can_go_on = xp.isfinite(xp.max(logits, axis=-1)) | text.is_done
    if not bool(xp.all(can_go_on)):
        row = can_go_on.tolist().index(False)
        check_setting("the scores of the next token", f"none in row {row} after {text.n_new} tokens", False,
                      "finite for one token at least")  # fmt: skip
