"""A model that reads on from where it stopped; with a key/value cache or, to check it, without."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from refimpl.arrays import array_namespace, check_setting
from refimpl.attention.cache import key_value


@dataclass(frozen=True)
class Model:
    """The callables through which every method of generation sees a model.

    Attributes
    ----------
    step : callable
        ``step(token_ids, cache, mask) -> (outputs, cache)``: reads the new tokens, of shape (n_batch, n_new), after
        what `cache` remembers; `mask`, of shape (n_batch, n_key), is False for padding among all tokens so far.  The
        outputs are the logits of the new tokens, shape (n_batch, n_new, vocab_size), or for
        contrastive search logits and hidden states.  Never changes the cache that it was given.
    reorder : callable, optional
        ``reorder(cache, rows) -> cache``: every new row goes on from the past of some row.
    rewind : callable, optional
        ``rewind(cache, n) -> cache``: takes the last n tokens of all rows back.
    start : object
        The cache before anything is read: what an encoder has made of the source, say.
    use_cache : bool
        False to read the whole text anew for every token: slow, and what the cache is checked against.
    """

    step: Callable
    reorder: Callable | None = None
    rewind: Callable | None = None
    start: Any = None
    use_cache: bool = True


def reorder_layers(cache, rows):
    """Reorder a cache that is a tuple with one `KeyValueCache` per layer, or of tuples of them.

    Parameters
    ----------
    cache : tuple of (KeyValueCache or tuple)
        What the layers remember; those of an encoder–decoder, of what they have written and of what they read.
    rows : array of int, shape (n_rows,)
        For every new row, the row whose past it takes.

    Returns
    -------
    tuple of (KeyValueCache or tuple)
        What the layers remember of the new rows.
    """
    return tuple(
        reorder_layers(layer, rows) if isinstance(layer, tuple) else key_value.reorder(layer, rows) for layer in cache
    )


def rewind_layers(cache, n):
    """Rewind a cache that is a tuple with one `KeyValueCache` per layer, or of tuples of them.

    Parameters
    ----------
    cache : tuple of (KeyValueCache or tuple)
        What the layers remember; those of an encoder–decoder, of what they have written and of what they read, which
        stays.
    n : int
        How many tokens are taken back.

    Returns
    -------
    tuple of (KeyValueCache or tuple)
        As if these tokens had never come.
    """
    return tuple(
        (key_value.rewind(layer[0], n), *layer[1:]) if isinstance(layer, tuple) else key_value.rewind(layer, n)
        for layer in cache
    )


@dataclass(frozen=True)
class Reader:
    """A model in the middle of a text.

    Attributes
    ----------
    model : Model
        The model.
    cache : object
        What it remembers.
    n_read : int
        How much of the text it has read, padding included.
    """

    model: Model
    cache: Any = None
    n_read: int = 0

    def read(self, text):
        """Read what is new in a text.

        Parameters
        ----------
        text : Text
            The text that was read so far, and at least one token more.

        Returns
        -------
        outputs : array, shape (n_batch, n_new, ...), or tuple of array
            What the model says at the new tokens.
        reader : Reader
            The model, having read them.
        """
        n_seq = text.token_ids.shape[1]
        if self.model.use_cache:
            outputs, cache = self.model.step(text.token_ids[:, self.n_read :], self.cache, text.mask)
            return outputs, replace(self, cache=cache, n_read=n_seq)
        outputs, _ = self.model.step(text.token_ids, self.cache, text.mask)
        new = tuple(x[:, self.n_read :] for x in outputs) if isinstance(outputs, tuple) else outputs[:, self.n_read :]
        return new, replace(self, n_read=n_seq)

    def rows(self, rows):
        """Go on from the past of some rows.

        Parameters
        ----------
        rows : array of int, shape (n_rows,)
            For every new row, the row whose past it takes.

        Returns
        -------
        Reader
            Of n_rows texts.
        """
        if self.cache is None:
            return self
        reorder = self.model.reorder or reorder_layers
        return replace(self, cache=reorder(self.cache, rows))

    def back_to(self, n_read):
        """Forget what stands after some place.

        Parameters
        ----------
        n_read : int
            How much of the text shall have been read.

        Returns
        -------
        Reader
            As if it had stopped there; this one, if it has not read so far.
        """
        n_back = self.n_read - n_read
        if n_back <= 0:
            return self
        if not self.model.use_cache:
            return replace(self, n_read=n_read)
        rewind = self.model.rewind or rewind_layers
        return replace(self, cache=rewind(self.cache, n_back), n_read=n_read)


def reader_of(model):
    """Let a model begin to read.

    Parameters
    ----------
    model : Model or callable
        The model, or its step alone, for a model whose cache is a tuple of `KeyValueCache`.

    Returns
    -------
    Reader
        The model, having read nothing.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if not isinstance(model, Model) and not callable(model):
        raise TypeError(f"model must be a Model or its step function, got {type(model).__name__}")
    whole = model if isinstance(model, Model) else Model(model)
    return Reader(whole, whole.start)


def last_logits(logits, text):
    """Take the logits of the next token.

    Parameters
    ----------
    logits : array, shape (n_batch, n_new, vocab_size)
        What a step gave.
    text : Text
        What was read.

    Returns
    -------
    array, shape (n_batch, vocab_size)
        Those of the last token.

    Raises
    ------
    ValueError
        If the step gave something else.
    """
    array_namespace(logits)
    fits = logits.ndim == 3 and logits.shape[0] == text.token_ids.shape[0] and logits.shape[1] > 0
    check_setting("the shape of step's logits", logits.shape, fits, "(n_batch, n_new, vocab_size)")
    return logits[:, -1]
