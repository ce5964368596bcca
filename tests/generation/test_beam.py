import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.generation import Constraints, Stop, beam_group, beam_search, greedy, last, pad_left
from tests.generation.plain import best_texts, diverse_beams
from tests.generation.toy import PROMPTS, Toy

TOKENS, MASK = pad_left(PROMPTS)
STOP = Stop(max_new_tokens=6, eos_ids=(0,))


def search(toy, *, use_cache=True, of=beam_search, **settings):
    return of(toy.model(use_cache=use_cache), TOKENS, mask=MASK, **{"stop": STOP, **settings})


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, -0.5])
def test_with_enough_beams_nothing_better_is_overlooked(length_penalty):
    toy = Toy(1, vocab_size=4, sharpness=0.7)
    prompt = [3, 1]
    want = best_texts(toy.log_probabilities, prompt, 3, 0, length_penalty)[:5]
    found = beam_search(toy.model(), np.array([prompt]), n_beam=16, n_return=5, early_stopping="never",
                        length_penalty=length_penalty, stop=Stop(max_new_tokens=3, eos_ids=(0,)))  # fmt: skip
    assert found.tokens[0] == [tokens for _, tokens in want]
    # Sums of at most three logarithms, in the same order.
    bound = 8 * np.finfo(float).eps * (1.0 + np.abs([score for score, _ in want]))
    assert np.all(np.abs(np.array(found.scores[0]) - [score for score, _ in want]) <= bound)


def test_one_beam_is_greedy_search():
    for seed in range(8):
        toy = Toy(seed)
        greedily = last(greedy(toy.model(), TOKENS, mask=MASK, stop=STOP)).written()
        # Ending at once, so that what ends is not exchanged for a text of a better mean.
        found = search(toy, n_beam=1, early_stopping=True)
        assert [of_prompt[0] for of_prompt in found.tokens] == greedily


@pytest.mark.parametrize("settings", [
    {"n_beam": 3}, {"n_beam": 4, "early_stopping": True},
    {"n_beam": 4, "early_stopping": "never", "length_penalty": 2.0},
    {"n_beam": 6, "n_group": 3, "diversity_penalty": 1.5},
])  # fmt: skip
def test_cache_and_company_change_nothing(settings):
    toy = Toy(3, sharpness=0.8)
    together = search(toy, **settings, n_return=2)
    assert search(toy, **settings, n_return=2, use_cache=False) == together
    for i, prompt in enumerate(PROMPTS):
        alone = beam_search(toy.model(), np.array([prompt]), **settings, n_return=2, stop=STOP)
        assert alone.tokens[0] == together.tokens[i]
        assert alone.scores[0] == together.scores[i]


DIVERSE = [
    {"n_beam": 4, "n_group": 2, "diversity_penalty": 0.7, "length_penalty": 1.0},
    {"n_beam": 6, "n_group": 3, "diversity_penalty": 2.0, "length_penalty": 0.0},
    {"n_beam": 3, "n_group": 3, "diversity_penalty": 5.0, "length_penalty": 2.0},
    {"n_beam": 4, "n_group": 1, "diversity_penalty": 1.0, "length_penalty": 1.0},
]


def difference_from_plain(of, seeds=range(6)):
    n_different = 0
    for seed in seeds:
        toy = Toy(seed, sharpness=0.8)
        for settings in DIVERSE:
            n_beam, n_group, penalty, length_penalty = settings.values()
            found = search(toy, of=of, n_return=n_beam, **settings)
            for prompt, tokens in zip(PROMPTS, found.tokens, strict=True):
                want = diverse_beams(toy.log_probabilities, prompt, 6, 0, n_beam, n_group, penalty, length_penalty)
                n_different += tokens != [text for _, text in want]
    return n_different


def test_diverse_beams_are_those_of_the_paper():
    assert difference_from_plain(beam_search) == 0


def test_groups_differ_and_without_a_penalty_they_do_not():
    toy = Toy(3, sharpness=0.8)
    alike = search(toy, n_beam=4, n_group=2, n_return=4, diversity_penalty=0.0)
    assert all(texts[0] == texts[1] and texts[2] == texts[3] for texts in alike.tokens)
    diverse = search(toy, n_beam=4, n_group=2, n_return=4, diversity_penalty=5.0)
    assert all(len({tuple(text) for text in texts}) == 4 for texts in diverse.tokens)


def in_group(old="", new="", **names):
    """Plant a bug in what a group does in one step."""
    wrong = rewritten(beam_group._next_group, old, new, **names)
    return rewritten(beam_search, next_groups=rewritten(beam_group.next_groups, _next_group=wrong))


def in_candidates(old, new):
    """Plant a bug in how a group finds its candidates."""
    return in_group(_best_continuations=rewritten(beam_group._best_continuations, old, new))


UPDATE = "taken.update(beam.tokens[-1] for beam in alive)"
WRONG = {
    "past of the wrong beams": rewritten(beam_search, "for _, beam in beams]", "for _, beam in beams[::-1]]"),
    "groups do not see each other": rewritten(
        beam_search, next_groups=rewritten(beam_group.next_groups, UPDATE, "pass")
    ),
    "the last tokens may be alike": rewritten(
        beam_search, next_groups=rewritten(beam_group.next_groups, UPDATE, UPDATE.replace("alive", "stepped.running"))
    ),
    "every text may end": in_group("strict=True))[: rules.n_beam]", "strict=True))"),
    "beams start anew": in_candidates("scores[rows] + so_far[:, None]", "scores[rows]"),
    "no spare candidates": in_candidates("max(2, 1 + len(rules.stop.eos_ids))", "1"),
    "no length penalty": in_group(_penalised=lambda beam, rules: beam),
    "searches on": in_group(_no_better=lambda running, worst, rules: False),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_search_is_rejected(name):
    assert difference_from_plain(WRONG[name]) > 0


def test_stop_strings_and_constraints_hold_for_beams():
    toy = Toy(3, sharpness=0.8)
    rules = Constraints(bad_words=((4,), (5, 5)), min_new_tokens=2)
    stop = Stop(max_new_tokens=6, eos_ids=(0,), strings=("12",), to_string=lambda tokens: "".join(map(str, tokens)))
    for of_prompt in search(toy, n_beam=4, n_return=4, constraints=rules, stop=stop).tokens:
        for tokens in of_prompt:
            string = "".join(map(str, tokens))
            assert "4" not in string
            assert "55" not in string
            assert "12" not in string[:-1]
            assert 0 not in tokens[:2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_beam": 0}, "n_beam must be at least 1"),
        ({"n_beam": 4, "n_group": 3}, "n_beam must be a multiple of n_group = 3, got 4"),
        ({"n_beam": 2, "n_return": 3}, r"n_return must be in \[1, 3\), got 3"),
        ({"n_beam": 2, "early_stopping": 1.0}, 'early_stopping must be True, False or "never", got 1.0'),
        ({"n_beam": 2, "diversity_penalty": -1}, r"diversity_penalty must be in \[0, 1e\+06\], got -1"),
        ({"n_beam": 2, "constraints": Constraints(suppressed=tuple(range(7)))}, "the texts that ended must be one"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        search(Toy(), **settings)


def test_a_model_that_gives_nan_is_refused():
    with pytest.raises(ValueError, match="the scores of the next token must be numbers"):
        beam_search(lambda ids, cache, mask: (np.full((*ids.shape, 5), np.nan), None), TOKENS, n_beam=2)
