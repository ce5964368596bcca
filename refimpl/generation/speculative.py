"""Speculative decoding: a small model guesses ahead, the large one judges all guesses in one step.

What is written has exactly the distribution of the large model alone.
"""

import itertools

from refimpl.arrays import array_namespace, check_shape, integer
from refimpl.generation.constraints import Constraints, check_some_token
from refimpl.generation.decode import extended
from refimpl.generation.draw import draw, uniforms
from refimpl.generation.filters import Filters
from refimpl.generation.reader import reader_of
from refimpl.generation.stop import Stop
from refimpl.generation.text import prompt
from refimpl.layers.softmax import softmax


def speculative(
    model, draft, token_ids, uniform, *, n_draft, filters=Filters(), stop=Stop(), constraints=Constraints()
):
    """Sample from a large model with the help of a small one.

    Parameters
    ----------
    model : Model or callable
        The large model, or its step function; see `Model`.
    draft : Model or callable
        The small model, of the same vocabulary.
    token_ids : array of int, shape (1, n_seq)
        One prompt: rows would accept different numbers of guesses.
    uniform : numpy.random.Generator or array, shape (1, n)
        Where the uniform numbers come from: at most ``2 * n_draft + 1`` for every time the large model reads.
    n_draft : int
        How many tokens the small model guesses at a time.
    filters : Filters, optional
        Temperature, top-k, top-p, min-p, for both models; top-k of 1 makes it greedy search.
    stop : Stop, optional
        When texts end.
    constraints : Constraints, optional
        What may come next, for both models.

    Returns
    -------
    iterator of Text
        The text after every reading of the large model: up to ``n_draft + 1`` tokens longer each time.

    Raises
    ------
    ValueError
        If a setting is out of range, there is not one prompt, or, later, no token is left.

    References
    ----------
    Leviathan, Kalman, Matias (2022), "Fast inference from transformers via speculative decoding", arXiv:2211.17192,
    algorithm 1.
    """
    n_draft = integer("n_draft", n_draft, at_least=1)
    check_shape("token_ids", token_ids, (1, None))
    text = prompt(token_ids)
    stop.n_new(text.n_prompt)  # complains before anything is read

    def distribution(logits, text):
        scores = constraints.apply(logits, text, stop)
        check_some_token(scores, text)
        return softmax(filters.apply(scores))[0]

    numbers = (uniforms(uniform, 1, i, like=token_ids) for i in itertools.count())
    return _rounds(reader_of(model), reader_of(draft), text, n_draft, stop, distribution, numbers)


def judge(p, q, token, uniform):
    """Accept a guess, or say from what to draw instead.

    Parameters
    ----------
    p : array, shape (1, vocab_size)
        What the large model thinks.
    q : array, shape (1, vocab_size)
        What the small model thinks, from which the guess was drawn.
    token : int
        The guess.
    uniform : float
        A uniform number in [0, 1).

    Returns
    -------
    is_accepted : bool
        True with probability ``min(1, p / q)``.
    rest : array, shape (1, vocab_size)
        Weights of what is drawn in place of a guess that is not accepted: what of p is above q.

    Notes
    -----
    A guess is token t and accepted with probability q·min(1, p/q) = min(p, q), so that (p − q)⁺ is what t still lacks;
    and over all tokens what is lacking is what is rejected.
    """
    xp = array_namespace(p, q)
    is_accepted = float(uniform) * float(q[0, token]) < float(p[0, token])
    rest = xp.where(p > q, p - q, 0.0)
    # Where p and q differ by their rounding alone, nothing is above q.
    return is_accepted, rest if float(xp.max(rest, axis=(0, 1))) > 0.0 else p


def _rounds(target, draft, text, n_draft, stop, distribution, numbers):
    n_new = stop.n_new(text.n_prompt)
    while text.n_new < n_new and not bool(text.is_done[0]):
        # One token less than is left: the large model always adds one of its own.
        n_guess = min(n_draft, n_new - text.n_new - 1)
        guesses, q, drafts = _guess(draft, text, n_guess, stop, distribution, numbers)
        logits, target = target.read(guesses[-1])
        p = logits[:, logits.shape[1] - len(guesses) :]
        n_right, text = _judged(guesses, p, q, stop, distribution, numbers)
        # The large model forgets what was guessed in vain; the small one is still there as it was before.
        target, draft = target.back_to(text.token_ids.shape[1] - 1), drafts[min(n_right + 1, len(drafts) - 1)]
        yield text


def _guess(draft, text, n_guess, stop, distribution, numbers):
    """Let the small model go on; keep all texts and readers on the way, and what it thought after each."""
    guesses, q, drafts = [text], [], [draft]
    while len(q) < n_guess and not bool(guesses[-1].is_done[0]):
        logits, draft = drafts[-1].read(guesses[-1])
        q.append(distribution(logits[:, -1], guesses[-1]))
        guesses.append(extended(guesses[-1], draw(q[-1], next(numbers)), stop))
        drafts.append(draft)
    return guesses, q, drafts


def _judged(guesses, logits, q, stop, distribution, numbers):
    """Count the guesses up to the first that is not accepted, and draw another in its place."""
    for i, (text, guess) in enumerate(itertools.pairwise(guesses)):
        p = distribution(logits[:, i], text)
        is_accepted, rest = judge(p, q[i], int(guess.token_ids[0, -1]), next(numbers)[0])
        if not is_accepted:
            return i, extended(text, draw(rest, next(numbers)), stop)
    text = guesses[-1]
    if bool(text.is_done[0]):
        return len(q), text
    return len(q), extended(text, draw(distribution(logits[:, -1], text), next(numbers)), stop)
