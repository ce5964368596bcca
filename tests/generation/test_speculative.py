import itertools
from dataclasses import replace

import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.generation import Constraints, Filters, Stop, greedy, last, speculative
from refimpl.generation.speculative import _guess, _judged, _rounds, judge
from refimpl.layers.softmax import softmax
from tests.generation.peer import chi_square, quantile_of_chi_square
from tests.generation.toy import Toy

PROMPT = np.array([[3, 1, 2]])
LARGE, SMALL = Toy(1, vocab_size=4, sharpness=0.8), Toy(2, vocab_size=4, sharpness=2.0)


def test_what_is_accepted_and_what_replaces_the_rest_make_the_large_model(generator):
    """Σ q·P(accept) over guesses and the rest times P(reject) is p: summed up exactly, not drawn."""
    for _ in range(8):
        p, q = (softmax(2.0 * generator.normal(size=(1, 9)))[0] for _ in range(2))
        n = 256
        accepted = np.zeros(9)
        for token in range(9):
            grid = (np.arange(n) + 0.5) / n
            share = np.mean([judge(p, q, token, u)[0] for u in grid])
            assert abs(share - min(1.0, p[0, token] / q[0, token])) <= 1.0 / n
            accepted[token] = q[0, token] * min(1.0, p[0, token] / q[0, token])
        _, rest = judge(p, q, int(np.argmax(q / p)), 1.0 - 2.0**-53)
        written = accepted + (1.0 - accepted.sum()) * rest[0] / rest.sum()
        # Sums of nine numbers below 1, and a quotient.
        assert np.all(np.abs(written - p[0]) <= 32 * np.finfo(float).eps / rest.sum())


def test_where_both_agree_every_guess_is_accepted():
    p = softmax(np.arange(4.0)[None])[0]
    assert judge(p, p, 2, 1.0 - 2.0**-53)[0]
    np.testing.assert_array_equal(judge(p, p, 2, 0.5)[1], p)


@pytest.mark.parametrize("n_draft", [1, 2, 3, 7])
def test_with_one_token_to_choose_from_it_is_greedy_search(n_draft):
    for seed in range(5):
        large, small = Toy(seed), Toy(seed + 1 if seed % 2 else seed)
        stop = Stop(max_new_tokens=11, eos_ids=(0,))
        want = last(greedy(large.model(), PROMPT, stop=stop)).written()
        for use_cache in (True, False):
            models = large.model(use_cache=use_cache), small.model(use_cache=use_cache)
            numbers = np.random.default_rng(0)
            got = speculative(*models, PROMPT, numbers, n_draft=n_draft, filters=Filters(top_k=1), stop=stop)
            assert last(got).written() == want


def test_rewinding_the_wrong_end_is_noticed():
    large, stop = Toy(0), Stop(max_new_tokens=11)
    wrong = replace(large.model(), rewind=lambda cache, n: cache[:, n:])
    texts = speculative(wrong, Toy(1).model(), PROMPT, np.random.default_rng(0), n_draft=3, filters=Filters(top_k=1),
                        stop=stop)  # fmt: skip
    assert last(texts).written() != last(greedy(large.model(), PROMPT, stop=stop)).written()


def test_a_good_guesser_saves_readings_of_the_large_model():
    stop = Stop(max_new_tokens=12)
    texts = list(speculative(Toy(1).model(), Toy(1).model(), PROMPT, np.random.default_rng(0), n_draft=3, stop=stop))
    assert [text.n_new for text in texts] == [4, 8, 12]
    texts = list(speculative(Toy(1).model(), Toy(2).model(), PROMPT, np.random.default_rng(0), n_draft=3, stop=stop))
    assert 3 < len(texts) <= 12
    assert texts[-1].n_new == 12


FILTERS, RULES = Filters(temperature=1.3, top_p=0.95), Constraints(no_repeat_ngram=2)
STOP = Stop(max_new_tokens=3, eos_ids=(0,))


def exact():
    """Probabilities of all texts, by the large model alone."""
    probabilities = {}

    def follow(tokens, probability):
        if len(tokens) == 3 or (tokens and tokens[-1] == 0):
            probabilities[tokens] = probability
            return
        text = [*PROMPT[0].tolist(), *tokens]
        logits = LARGE.logits(text)
        banned = [b for a, b in itertools.pairwise(text) if a == text[-1]]
        logits[banned] = -np.inf
        for token, p in enumerate(softmax(FILTERS.apply(logits[None]))[0][0].tolist()):
            if p > 0.0:
                follow((*tokens, token), probability * p)

    follow((), 1.0)
    return probabilities


def statistic(of, n=500):
    probabilities, generator = exact(), np.random.default_rng(11)
    counts = dict.fromkeys(probabilities, 0)
    for _ in range(n):
        texts = of(LARGE.model(), SMALL.model(), PROMPT, generator, n_draft=2, filters=FILTERS, stop=STOP,
                   constraints=RULES)  # fmt: skip
        tokens = tuple(last(texts).written()[0])
        if tokens not in counts:
            return np.inf
        counts[tokens] += 1
    return chi_square(list(counts.values()), list(probabilities.values()))


def in_judging(old, new, **names):
    wrong = rewritten(judge, old, new, **names)
    return rewritten(speculative, _rounds=rewritten(_rounds, _judged=rewritten(_judged, judge=wrong)))


WRONG = {
    "every guess is accepted": in_judging("< float(p[0, token])", "< 2.0"),
    "drawn from p instead of the rest": in_judging("p - q, 0.0", "p, 0.0 * p + p"),
    "the rest is q above p": in_judging("xp.where(p > q, p - q, 0.0)", "xp.where(q > p, q - p, 0.0)"),
    "accepted by p alone": in_judging("float(uniform) * float(q[0, token])", "float(uniform)"),
    "judged by the next position": rewritten(speculative, _rounds=rewritten(_rounds, _judged=rewritten(
        _judged, "distribution(logits[:, i], text)", "distribution(logits[:, i + 1], text)"))),
    "one number for all": rewritten(speculative, _rounds=rewritten(_rounds, _guess=rewritten(
        _guess, "next(numbers)", "0.0 * next(numbers) + 0.5"))),
}  # fmt: skip


def test_texts_have_the_exact_distribution_of_the_large_model():
    probabilities = exact()
    assert statistic(speculative) < quantile_of_chi_square(len(probabilities))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variant_is_rejected(name):
    assert statistic(WRONG[name]) > quantile_of_chi_square(len(exact()))


@pytest.mark.parametrize(
    ("prompt", "n_draft", "message"),
    [(PROMPT, 0, "n_draft must be at least 1"), (np.ones((2, 3), int), 2, r"token_ids must have shape \(1, any\)")],
)
def test_bad_input_is_refused(prompt, n_draft, message):
    with pytest.raises(ValueError, match=message):
        speculative(LARGE.model(), SMALL.model(), prompt, np.random.default_rng(0), n_draft=n_draft)


def test_numbers_may_be_given():
    numbers = np.random.default_rng(3).random((1, 100))
    texts = [last(speculative(LARGE.model(), SMALL.model(), PROMPT, numbers, n_draft=2)).written() for _ in range(2)]
    assert texts[0] == texts[1]
