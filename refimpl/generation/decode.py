"""Greedy search and sampling: one token after another, until every text has ended."""

from dataclasses import replace

from refimpl.arrays import array_namespace
from refimpl.generation.constraints import Constraints, check_some_token
from refimpl.generation.draw import draw, uniforms
from refimpl.generation.filters import Filters
from refimpl.generation.reader import last_logits, reader_of
from refimpl.generation.stop import Stop, with_ends
from refimpl.generation.text import prompt
from refimpl.layers.softmax import softmax


def greedy(model, token_ids, *, mask=None, stop=Stop(), constraints=Constraints()):
    """Write the most probable token, again and again.

    Parameters
    ----------
    model : Model or callable
        The model, or its step function; see `Model`.
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts, padded on the left.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding.
    stop : Stop, optional
        When texts end.
    constraints : Constraints, optional
        What may come next.

    Returns
    -------
    iterator of Text
        The texts after every token; `last` waits for the end.

    Raises
    ------
    ValueError
        If a prompt is empty or padded elsewhere, or, later, if no token is left.

    Notes
    -----
    Of equal logits the lowest token wins.
    """
    return _write(reader_of(model), prompt(token_ids, mask), stop, constraints, _most_probable)


def sample(model, token_ids, uniform, *, mask=None, filters=Filters(), stop=Stop(), constraints=Constraints()):
    """Draw every token from the model's distribution, after the filters.

    Parameters
    ----------
    model : Model or callable
        The model, or its step function; see `Model`.
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts, padded on the left.
    uniform : numpy.random.Generator or array, shape (n_batch, n_step)
        Where the uniform numbers come from, one for every row and step: the same numbers give the same texts.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding.
    filters : Filters, optional
        Temperature, top-k, top-p, min-p.
    stop : Stop, optional
        When texts end.
    constraints : Constraints, optional
        What may come next; applied before the filters.

    Returns
    -------
    iterator of Text
        The texts after every token; `last` waits for the end.

    Raises
    ------
    ValueError
        If a prompt is empty or padded elsewhere, or, later, if no token is left or uniform numbers run out.
    """

    def choose(scores, i):
        probabilities, _ = softmax(filters.apply(scores))
        return draw(probabilities, uniforms(uniform, scores.shape[0], i, like=scores))

    return _write(reader_of(model), prompt(token_ids, mask), stop, constraints, choose)


def last(texts):
    """Wait for the end.

    Parameters
    ----------
    texts : iterator of Text
        What `greedy`, `sample` and the like return.

    Returns
    -------
    Text
        The finished texts.
    """
    text = None
    for text in texts:  # noqa: B007 - the last one is wanted
        pass
    return text


def extended(text, tokens, stop):
    """Append a token to every text that has not ended, and look whether it ends there.

    Parameters
    ----------
    text : Text
        What was written so far.
    tokens : array of int, shape (n_batch,)
        The next tokens.
    stop : Stop
        When texts end.

    Returns
    -------
    Text
        The longer texts.
    """
    xp = array_namespace(text.token_ids, tokens)
    longer = text.followed_by(xp.where(text.is_done, stop.pad_id, tokens))
    return replace(longer, is_done=with_ends(longer, stop))


def _write(reader, text, stop, constraints, choose):
    n_new = stop.n_new(text.n_prompt)  # complains before anything is read
    return _tokens(reader, text, stop, constraints, choose, n_new)


def _tokens(reader, text, stop, constraints, choose, n_new):
    for i in range(n_new):
        logits, reader = reader.read(text)
        scores = constraints.apply(last_logits(logits, text), text, stop)
        check_some_token(scores, text)
        text = extended(text, choose(scores, i), stop)
        yield text
        if all(text.is_done.tolist()):
            return


def _most_probable(scores, i):
    xp = array_namespace(scores)
    return xp.argmax(scores, axis=-1)
