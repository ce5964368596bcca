"""Beam search, and diverse beam search: the likeliest texts instead of the likeliest next tokens."""

import itertools
from dataclasses import dataclass, replace

from refimpl.arrays import array_namespace, check_multiple, check_setting, integer, number, widen
from refimpl.generation.beam_group import Beam, Group, Rules, next_groups
from refimpl.generation.constraints import Constraints
from refimpl.generation.reader import last_logits, reader_of
from refimpl.generation.stop import Stop
from refimpl.generation.text import prompt
from refimpl.layers.softmax import log_softmax


@dataclass(frozen=True)
class Beams:
    """What beam search found, the best first.

    Attributes
    ----------
    tokens : list of (list of (list of int))
        For every prompt and beam the tokens that were written.
    scores : list of (list of float)
        Their logarithms of probability, penalised by length (and for lack of diversity).
    """

    tokens: list
    scores: list


def beam_search(
    model,
    token_ids,
    *,
    n_beam,
    mask=None,
    stop=Stop(),
    constraints=Constraints(),
    length_penalty=1.0,
    early_stopping=False,
    n_group=1,
    diversity_penalty=0.0,
    n_return=1,
):
    """Keep the best beams at every step, and return the best texts that have ended.

    Parameters
    ----------
    model : Model or callable
        The model, or its step function; see `Model`.
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts, padded on the left.
    n_beam : int
        How many beams every prompt has, in all groups together.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding.
    stop : Stop, optional
        When texts end.
    constraints : Constraints, optional
        What may come next; they act on logarithms of probabilities, which are not normalised again.
    length_penalty : float, optional
        The sum of logarithms is divided by the number of new tokens to this power, between -50 and 50:
        above 0 favours longer texts.
    early_stopping : {False, True, "never"}, optional
        When a group with as many finished texts as beams ends: True, at once; False, when its best beam, if it ended
        now, would be no better than the worst of them; "never", when it could become no better at any length.
    n_group : int, optional
        Diverse beam search: the beams are in so many groups, which search one after another.
    diversity_penalty : float, optional
        What a token costs for every beam of an earlier group that has taken it in this step, at most a million.
    n_return : int, optional
        How many texts of every prompt are returned.

    Returns
    -------
    Beams
        The best texts.

    Raises
    ------
    ValueError
        If a setting is out of range, a prompt empty or padded elsewhere, or no token is left.

    References
    ----------
    Wu et al. (2016), "Google's neural machine translation system", arXiv:1609.08144, section 7 (a length penalty of
    another form).  Vijayakumar et al. (2016), "Diverse beam search", arXiv:1610.02424, algorithm 1 with the Hamming
    diversity of section 5.
    """
    xp, text = array_namespace(token_ids, mask), prompt(token_ids, mask)
    _check(n_beam, n_group, n_return, early_stopping)
    # Beyond these bounds the power of a length leaves the numbers.
    length_penalty = number("length_penalty", length_penalty, at_least=-50.0, at_most=50.0)
    rules = Rules(n_beam // n_group, stop, stop.n_new(text.n_prompt), length_penalty, early_stopping,
                  number("diversity_penalty", diversity_penalty, at_least=0.0, at_most=1e6))  # fmt: skip
    groups = [[Group((Beam(0.0, (), i),))] * n_group for i in range(token_ids.shape[0])]
    now, reader = text, reader_of(model)
    while True:
        logits, reader = reader.read(now)
        scores = _scores(logits, now, stop, constraints)
        groups = [next_groups(of_prompt, scores, rules) for of_prompt in groups]
        beams = [(i, beam) for i, of_prompt in enumerate(groups) for group in of_prompt for beam in group.running]
        if not beams:
            return _best(groups, n_return)
        reader = reader.rows(xp.asarray([beam.row for _, beam in beams], dtype=xp.int64))
        now = _texts(text, beams)
        groups = _renumbered(groups)


def _check(n_beam, n_group, n_return, early_stopping):
    integer("n_beam", n_beam, at_least=1)
    integer("n_group", n_group, at_least=1)
    check_multiple("n_beam", n_beam, n_group=n_group)
    integer("n_return", n_return, at_least=1, below=n_beam + 1)
    known = early_stopping is True or early_stopping is False or early_stopping == "never"
    check_setting("early_stopping", early_stopping, known, 'True, False or "never"')


def _scores(logits, now, stop, constraints):
    xp = array_namespace(logits)
    log_probabilities, _ = log_softmax(widen(last_logits(logits, now)))
    scores = constraints.apply(log_probabilities, now, stop)
    # A beam may be left without any token, and ends; NaN is a fault of the model.
    is_number = bool(xp.all(xp.max(scores, axis=-1) < float("inf")))
    check_setting("the scores of the next token", "NaN or infinity", is_number, "numbers")
    return scores


def _texts(text, beams):
    """Repeat each prompt as often as it has beams, and append what these have written."""
    xp = array_namespace(text.token_ids)
    repeated = text.rows(xp.asarray([i for i, _ in beams], dtype=xp.int64))
    new = xp.asarray([list(beam.tokens) for _, beam in beams], dtype=xp.int64)
    token_ids = xp.concatenate([repeated.token_ids, new], axis=1)
    mask = xp.concatenate([repeated.mask, xp.ones(new.shape, dtype=xp.bool_)], axis=1)
    return replace(repeated, token_ids=token_ids, mask=mask)


def _renumbered(groups):
    """Say which row reads each beam next: they stand in their order."""
    rows = itertools.count()
    return [
        [replace(group, running=tuple(replace(beam, row=next(rows)) for beam in group.running)) for group in of_prompt]
        for of_prompt in groups
    ]


def _best(groups, n_return):
    tokens, scores = [], []
    for i, of_prompt in enumerate(groups):
        finished = sorted((beam for group in of_prompt for beam in group.finished), key=lambda beam: -beam.score)
        check_setting("the texts that ended", f"none for prompt {i}", len(finished) > 0, "one at least")
        tokens.append([list(beam.tokens) for beam in finished[:n_return]])
        scores.append([beam.score for beam in finished[:n_return]])
    return Beams(tokens, scores)
