"""When a text ends: at an end-of-text token, at a length, at a string."""

from collections.abc import Callable
from dataclasses import dataclass

from refimpl.arrays import array_namespace, check_setting, integer


@dataclass(frozen=True)
class Stop:
    """When texts end.

    Attributes
    ----------
    max_new_tokens : int
        No more tokens than these are written.
    max_length : int or None
        No text grows longer than this, prompt (and its padding) included: as many positions as the model has.
    eos_ids : tuple of int
        End-of-text tokens; the one that came is part of the text.
    strings : tuple of str
        A text ends when what was written contains one of these.
    to_string : callable or None
        ``to_string(tokens) -> str``, such as the `decode` of a tokenizer; needed for `strings`.
    pad_id : int
        Fills a row that ends before the others.

    Raises
    ------
    ValueError
        If a setting is out of range, or there are strings but no `to_string`.

    Notes
    -----
    A stop string must lie in what was written; `transformers` also ends where it began in the prompt.
    """

    max_new_tokens: int = 20
    max_length: int | None = None
    eos_ids: tuple = ()
    strings: tuple = ()
    to_string: Callable | None = None
    pad_id: int = 0

    def __post_init__(self):
        integer("max_new_tokens", self.max_new_tokens, at_least=1)
        if self.max_length is not None:
            integer("max_length", self.max_length, at_least=1)
        integer("pad_id", self.pad_id, at_least=0)
        check_setting("eos_ids", self.eos_ids, isinstance(self.eos_ids, tuple), "a tuple of tokens")
        for token in self.eos_ids:
            integer("eos_ids", token, at_least=0)
        named = isinstance(self.strings, tuple) and all(isinstance(s, str) and s for s in self.strings)
        check_setting("strings", self.strings, named, "a tuple of strings that are not empty")
        readable = callable(self.to_string) or (not self.strings and self.to_string is None)
        check_setting("to_string", self.to_string, readable, "a function from tokens to a string, for stop strings")

    def n_new(self, n_prompt):
        """Count the tokens that may be written.

        Parameters
        ----------
        n_prompt : int
            Length of the prompt, padding included.

        Returns
        -------
        int
            How many.

        Raises
        ------
        ValueError
            If the prompt leaves no room for any.
        """
        if self.max_length is None:
            return self.max_new_tokens
        room = self.max_length - n_prompt
        check_setting("max_length", self.max_length, room > 0, f"longer than the prompt, which has {n_prompt} tokens")
        return min(self.max_new_tokens, room)

    def ends(self, written):
        """Say whether a text ends here, its length aside.

        Parameters
        ----------
        written : sequence of int
            The new tokens of one row.

        Returns
        -------
        bool
            True if the last token ends the text, or completed a stop string.
        """
        if written[-1] in self.eos_ids:
            return True
        if not self.strings:
            return False
        string = self.to_string(written)
        return any(stop in string for stop in self.strings)


def with_ends(text, stop):
    """Mark the texts that have ended with their last token, whatever their length.

    Parameters
    ----------
    text : Text
        The texts, each one token longer than when it was looked at last.
    stop : Stop
        When texts end.

    Returns
    -------
    array of bool, shape (n_batch,)
        True for those that have ended, now or before.
    """
    xp = array_namespace(text.token_ids)
    is_done = text.is_done
    for token in stop.eos_ids:
        is_done = is_done | (text.token_ids[:, -1] == token)
    if not stop.strings:
        return is_done
    done = is_done.tolist()
    ended = [old or stop.ends(new) for old, new in zip(done, text.written(), strict=True)]
    return xp.asarray(ended, dtype=xp.bool_)
