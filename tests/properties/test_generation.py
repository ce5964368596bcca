"""Every promise of generation, and the wrong variant that each must reject."""

import pytest
from hypothesis import given, settings

from compare import strategies
from compare.cases.bug import rewritten
from refimpl.generation import beam_group, beam_search, decode, greedy
from refimpl.generation.constraints import Constraints
from refimpl.generation.draw import draw
from refimpl.generation.filters import min_p, top_p
from refimpl.generation.repetition import no_repeat_ngram
from refimpl.generation.speculative import judge
from tests.properties import promises_of_generation as promises


class CountingPadding(Constraints):
    """Takes padding for text."""

    def apply(self, logits, text, stop):
        return super().apply(logits, decode.replace(text, mask=text.mask | True), stop)


def of_candidates(old, new):
    wrong = rewritten(beam_group._best_continuations, old, new)
    wrong = rewritten(beam_group._next_group, _best_continuations=wrong)
    return rewritten(beam_search, next_groups=rewritten(beam_group.next_groups, _next_group=wrong))


def padded_greedy(model, token_ids, *, constraints, **settings):
    fields = {name: getattr(constraints, name) for name in constraints.__dataclass_fields__}
    return greedy(model, token_ids, constraints=CountingPadding(**fields), **settings)


# The promise, the function, and a variant that breaks it.
PROMISES = {
    "top-p keeps the best": (
        promises.keeps_the_best, top_p,
        rewritten(
            top_p, "_at_least(smallest_kept, logits, xp)", "xp.where(logits <= smallest_kept, logits, -math.inf)"
        ),
    ),
    "min-p keeps the best": (
        promises.keeps_the_best, min_p, rewritten(min_p, "ratios >= p", "(ratios < 1.0) & (ratios >= p)"),
    ),
    "enough and no more": (promises.keeps_enough_and_no_more, top_p, rewritten(top_p, "before < p", "up_to <= p")),
    "drawn in order": (promises.drawn_in_order, draw, rewritten(draw, "(up_to > uniform", "(up_to >= uniform")),
    "guesses make the large model": (
        promises.guesses_make_the_large_model, judge, rewritten(judge, "xp.where(p > q, p - q, 0.0)", "p"),
    ),
    "company means nothing": (promises.company_means_nothing, greedy, padded_greedy),
    "nothing better is overlooked": (
        promises.nothing_better_is_overlooked, beam_search,
        of_candidates("scores[rows] + so_far[:, None]", "scores[rows]"),
    ),
    "a cache means nothing": (
        promises.a_cache_means_nothing, beam_search,
        rewritten(beam_search, "for _, beam in beams]", "for _, beam in beams[::-1]]"),
    ),
    "bans what completes": (
        promises.bans_what_completes, no_repeat_ngram,
        rewritten(no_repeat_ngram, "if i < n - 1", "if i < n - 2"),
    ),
    "texts before stay": (
        promises.texts_before_stay, greedy,
        lambda *args, **keywords: list(greedy(*args, **keywords))[::-1],
    ),
}  # fmt: skip


def run(promise, function):
    n_example = settings.get_profile(settings.get_current_profile_name()).max_examples

    @settings(max_examples=n_example)
    @given(strategies.generators())
    def examples(generator):
        promise(function, generator)

    examples()


@pytest.mark.parametrize("name", PROMISES)
def test_promise_is_kept(name):
    promise, function, _ = PROMISES[name]
    run(promise, function)


@pytest.mark.parametrize("name", PROMISES)
def test_promise_broken_is_noticed(name):
    promise, _, wrong = PROMISES[name]
    with pytest.raises(AssertionError):
        run(promise, wrong)
