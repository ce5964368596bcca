"""One step of a group of beams: the best continuations, those that go on, and those that have ended.

The book-keeping is in plain Python: a beam is a few tokens and a sum of logarithms.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from refimpl.arrays import array_namespace
from refimpl.generation.stop import Stop


@dataclass(frozen=True)
class Beam:
    """What one beam has written.

    Attributes
    ----------
    score : float
        Logarithm of its probability; in `Group.finished` penalised by length.
    tokens : tuple of int
        The new tokens.
    row : int
        Which row of the batch has read it, but for its last token.
    """

    score: float
    tokens: tuple
    row: int


@dataclass(frozen=True)
class Group:
    """Beams that compete with each other.

    Attributes
    ----------
    running : tuple of Beam
        Those that go on, the best first.
    finished : tuple of Beam
        The best of those that have ended, the best first.
    """

    running: tuple
    finished: tuple = ()


@dataclass(frozen=True)
class Rules:
    """How beams are ranked, and when a group has ended.

    Attributes
    ----------
    n_beam : int
        How many beams a group has.
    stop : Stop
        When texts end.
    n_new : int
        The most tokens that are written.
    length_penalty : float
        Scores are divided by the number of new tokens to this power.
    early_stopping : {False, True, "never"}
        What ends a group that has as many finished texts as beams.
    diversity_penalty : float
        What a token costs for every beam of an earlier group that has taken it in this step.
    """

    n_beam: int
    stop: Stop
    n_new: int
    length_penalty: float = 1.0
    early_stopping: Any = False
    diversity_penalty: float = 0.0


def next_groups(groups, scores, rules):
    """Let all groups of one prompt take a step, one after another.

    Parameters
    ----------
    groups : sequence of Group
        The groups.
    scores : array, shape (n_row, vocab_size)
        Logarithms of the probabilities of the next token, after every row that was read.
    rules : Rules
        How beams are ranked, and when a group has ended.

    Returns
    -------
    list of Group
        The groups one token later.
    """
    taken = Counter()  # what the beams of earlier groups took in this step
    later = []
    for group in groups:
        if not group.running:
            later.append(group)
            continue
        stepped, alive = _next_group(group, scores, rules, taken)
        taken.update(beam.tokens[-1] for beam in alive)
        later.append(stepped)
    return later


def _next_group(group, scores, rules, taken):
    """Find the group one token later, and its beams whose last token ends no text."""
    candidates = _best_continuations(group.running, scores, rules, taken)
    is_last = len(group.running[0].tokens) + 1 == rules.n_new
    ends = [rules.stop.ends(beam.tokens) for beam in candidates]
    alive = [beam for beam, has_ended in zip(candidates, ends, strict=True) if not has_ended][: rules.n_beam]
    # Only the best candidates may end: those behind them are spares, for where the best do not go on.
    best = list(zip(candidates, ends, strict=True))[: rules.n_beam]
    ended = [_penalised(beam, rules) for beam, has_ended in best if has_ended or is_last]
    finished = sorted((*group.finished, *ended), key=lambda beam: -beam.score)[: rules.n_beam]
    is_done = is_last or (alive and len(finished) == rules.n_beam and _no_better(alive[0], finished[-1], rules))
    return Group(() if is_done else tuple(alive), tuple(finished)), alive


def _best_continuations(running, scores, rules, taken):
    """Find the best candidates, so many that enough go on even if every beam's best is to end."""
    xp = array_namespace(scores)
    vocab_size = scores.shape[-1]
    rows = xp.asarray([beam.row for beam in running], dtype=xp.int64)
    so_far = xp.asarray([beam.score for beam in running], dtype=scores.dtype)
    after = scores[rows] + so_far[:, None]
    for token, n in taken.items():
        after = xp.where((xp.arange(vocab_size) == token)[None, :], after - n * rules.diversity_penalty, after)
    flat = xp.reshape(after, (-1,))
    n_candidate = max(2, 1 + len(rules.stop.eos_ids)) * rules.n_beam
    best = xp.argsort(-flat, axis=-1)[:n_candidate]
    found = sorted((-score, place) for score, place in zip(flat[best].tolist(), best.tolist(), strict=True))
    continued = []
    for cost, place in found:
        before, token = running[place // vocab_size], place % vocab_size
        if math.isfinite(cost):  # else it may not come
            continued.append(Beam(-cost, (*before.tokens, token), before.row))
    return continued


def _no_better(running, worst, rules):
    """Say whether the best running beam will not push the worst finished text out."""
    if rules.early_stopping is True:
        return True
    at_best = rules.early_stopping == "never" and rules.length_penalty > 0.0
    n_new = rules.n_new if at_best else len(running.tokens)
    return running.score / n_new**rules.length_penalty <= worst.score


def _penalised(beam, rules):
    return replace(beam, score=beam.score / len(beam.tokens) ** rules.length_penalty)
