"""Contrastive search: probable, but not like what was said before."""

from refimpl.arrays import array_namespace, check_setting, integer, number
from refimpl.generation.constraints import Constraints, check_some_token
from refimpl.generation.decode import extended
from refimpl.generation.reader import last_logits, reader_of
from refimpl.generation.stop import Stop
from refimpl.generation.text import prompt
from refimpl.layers.softmax import softmax
from refimpl.layers.unit import unit_vectors


def contrastive(model, token_ids, *, k, alpha, mask=None, stop=Stop(), constraints=Constraints()):
    """Of the k most probable tokens write the one whose hidden state is least like any before it.

    Parameters
    ----------
    model : Model or callable
        The model, or its step function; see `Model`.  Its outputs are ``(logits, states)``, the states being the
        last hidden states, shape (n_batch, n_new, d_model).
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts, padded on the left.
    k : int
        How many tokens are tried at every step.
    alpha : float
        How much likeness counts, in [0, 1]; 0 is greedy search.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding, which nothing is compared with.
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
        If a setting is out of range, a prompt empty or padded elsewhere, or, later, if no token is left.

    References
    ----------
    Su et al. (2022), "A contrastive framework for neural text generation", arXiv:2202.06417, eq. 5.
    """
    k, alpha = integer("k", k, at_least=1), number("alpha", alpha, at_least=0.0, at_most=1.0)
    text = prompt(token_ids, mask)
    n_new = stop.n_new(text.n_prompt)
    return _tokens(reader_of(model), text, k, alpha, stop, constraints, n_new)


def _tokens(reader, text, k, alpha, stop, constraints, n_new):
    xp = array_namespace(text.token_ids)
    (logits, states), reader = _read(reader, text)
    for _ in range(n_new):
        scores = constraints.apply(last_logits(logits, text), text, stop)
        check_some_token(scores, text)
        candidates, probabilities = _most_probable(scores, k)  # (n_batch, k)
        n_batch, n_tried = candidates.shape
        each = xp.reshape(xp.arange(n_batch)[:, None] + xp.zeros((1, n_tried), dtype=xp.int64), (-1,))
        # Every candidate is read once, on trial; what the chosen one gives is then known already.
        tried = extended(text.rows(each), xp.reshape(candidates, (-1,)), stop)
        (tried_logits, tried_states), tried_reader = _read(reader.rows(each), tried)
        likeness = xp.reshape(_likeness(tried_states, states[each], text.mask[each]), (n_batch, n_tried))
        # A candidate of probability 0 is one that may not come.
        value = xp.where(probabilities > 0.0, (1.0 - alpha) * probabilities - alpha * likeness, -2.0)
        chosen = xp.arange(n_batch) * n_tried + xp.argmax(value, axis=-1)
        text, reader, logits = tried.rows(chosen), tried_reader.rows(chosen), tried_logits[chosen]
        states = xp.concatenate([states, tried_states[chosen]], axis=1)
        yield text
        if all(text.is_done.tolist()):
            return


def _read(reader, text):
    outputs, reader = reader.read(text)
    fits = isinstance(outputs, tuple) and len(outputs) == 2
    check_setting("the outputs of step", type(outputs).__name__, fits, "logits and hidden states")
    return outputs, reader


def _most_probable(scores, k):
    xp = array_namespace(scores)
    probabilities, _ = softmax(scores)
    candidates = xp.argsort(-probabilities, axis=-1)[:, :k]
    return candidates, probabilities[xp.arange(scores.shape[0])[:, None], candidates]


def _likeness(new, old, is_token):
    """Take the largest cosine between a new state and any old one."""
    xp = array_namespace(new, old, is_token)
    (new, _), (old, _) = unit_vectors(new), unit_vectors(old)  # a state of 0 is like nothing
    cosines = xp.matmul(new, xp.swapaxes(old, 1, 2))  # (n_row, 1, n_seq)
    return xp.max(xp.where(is_token[:, None, :], cosines, -1.0), axis=-1)
