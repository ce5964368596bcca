"""What generation promises of any model.  Each check raises AssertionError where it does not hold."""

import itertools

import numpy as np

from refimpl.generation import Constraints, Stop, last, pad_left
from refimpl.layers.softmax import softmax
from tests.generation.plain import best_texts
from tests.generation.toy import Toy

EPS = np.finfo(np.float64).eps


def some_logits(generator):
    """With ties, and with tokens that are forbidden already."""
    logits = np.round(3.0 * generator.normal(size=(4, int(generator.integers(1, 20)))), int(generator.integers(0, 3)))
    always = generator.integers(0, logits.shape[1], (4, 1))
    forbidden = (generator.random(logits.shape) < 0.3) & (np.arange(logits.shape[1]) != always)
    return np.where(forbidden, -np.inf, logits)


def keeps_the_best(function, generator):
    """What a filter keeps is as probable as it was, and nothing that is left out is more probable."""
    logits, p = some_logits(generator), float(generator.random())
    filtered = function(logits, p=p)
    kept = np.isfinite(filtered)
    assert np.array_equal(filtered[kept], logits[kept])
    assert np.all(np.any(kept, axis=-1))
    lowest_kept = np.min(np.where(kept, logits, np.inf), axis=-1, keepdims=True)
    assert np.all(kept | (logits < lowest_kept) | ~np.isfinite(logits))


def keeps_enough_and_no_more(function, generator):
    """Top-p: what is kept has a probability of p, and without its least probable tokens less."""
    logits, p = some_logits(generator), float(generator.random())
    probabilities, _ = softmax(logits)
    kept = np.isfinite(function(logits, p=p))
    least = np.min(np.where(kept, logits, np.inf), axis=-1, keepdims=True)
    slack = 4 * logits.shape[1] * EPS
    assert np.all(np.sum(np.where(kept, probabilities, 0.0), axis=-1) >= p - slack)
    assert np.all(np.sum(np.where(kept & (logits > least), probabilities, 0.0), axis=-1) < p + slack)


def drawn_in_order(function, generator):
    """Larger numbers draw later tokens, and none draws what has probability 0."""
    probabilities = softmax(some_logits(generator))[0][:1]
    numbers = np.sort(np.concatenate([generator.random(40), [0.0, 1.0 - EPS / 2]]))
    tokens = function(np.repeat(probabilities, 42, axis=0), numbers)
    assert np.all(np.diff(tokens) >= 0)
    assert np.all(probabilities[0, tokens] > 0.0)
    possible = np.flatnonzero(probabilities[0])
    assert (tokens[0], tokens[-1]) == (possible[0], possible[-1])


def guesses_make_the_large_model(function, generator):
    """min(p, q), and the rest in proportion, are p again."""
    n = int(generator.integers(2, 9))
    p, q = (softmax(2.0 * generator.normal(size=(1, n)))[0] for _ in range(2))
    accepted = np.minimum(p, q)[0]
    for token in range(n):
        below, above = (min(1.0, p[0, token] / q[0, token]) * factor for factor in (1.0 - 8 * EPS, 1.0 + 8 * EPS))
        assert function(p, q, token, below)[0]
        assert above >= 1.0 or not function(p, q, token, above)[0]
    rest = function(p, q, 0, 0.5)[1][0]
    written = accepted + (1.0 - np.sum(accepted)) * rest / np.sum(rest)
    assert np.all(np.abs(written - p[0]) <= 8 * n * EPS / min(np.sum(rest), 1.0))


def some_prompts(generator):
    prompts = [generator.integers(0, 7, int(generator.integers(1, 5))).tolist() for _ in range(3)]
    return prompts, *pad_left(prompts, pad_id=int(generator.integers(0, 7)))


def company_means_nothing(function, generator):
    """A row writes what it would write alone, whatever stands in its padding."""
    prompts, token_ids, mask = some_prompts(generator)
    toy = Toy(int(generator.integers(0, 100)), sharpness=1.0)
    rules = Constraints(no_repeat_ngram=2, repetition_penalty=1.5, bad_words=((1, 2), (4,)))
    settings = {"stop": Stop(max_new_tokens=5, eos_ids=(0,)), "constraints": rules}
    together = last(function(toy.model(), token_ids, mask=mask, **settings)).written()
    assert together == [last(function(toy.model(), np.array([p]), **settings)).written()[0] for p in prompts]


def nothing_better_is_overlooked(function, generator):
    """With as many beams as there are texts, beam search finds the best of them."""
    toy = Toy(int(generator.integers(0, 100)), vocab_size=3, sharpness=0.7)
    prompt = generator.integers(0, 3, 3).tolist()
    penalty = float(generator.choice([0.0, 1.0, 1.5]))
    want = best_texts(toy.log_probabilities, prompt, 3, 0, penalty)
    found = function(toy.model(), np.array([prompt]), n_beam=9, n_return=3, length_penalty=penalty,
                     early_stopping="never", stop=Stop(max_new_tokens=3, eos_ids=(0,)))  # fmt: skip
    assert found.tokens[0] == [tokens for _, tokens in want[:3]]


def a_cache_means_nothing(function, generator):
    """Reading on and reading anew give the same beams."""
    _, token_ids, mask = some_prompts(generator)
    toy = Toy(int(generator.integers(0, 100)), sharpness=0.7)
    settings = {"mask": mask, "n_beam": 4, "n_group": 2, "diversity_penalty": 0.5, "n_return": 4,
                "stop": Stop(max_new_tokens=5, eos_ids=(0,))}  # fmt: skip
    without = function(toy.model(use_cache=False), token_ids, **settings)
    assert function(toy.model(), token_ids, **settings) == without


def bans_what_completes(function, generator):
    """A token is banned just where it would complete an n-gram that the text has already."""
    n = int(generator.integers(1, 4))
    text = generator.integers(0, 3, int(generator.integers(1, 12))).tolist()
    banned = ~np.isfinite(function(np.zeros((1, 3)), np.array([text]), n=n)[0])
    there = set(zip(*(text[i:] for i in range(n)), strict=False))
    for token, is_banned in enumerate(banned):
        ending = tuple([*text, token][-n:])
        assert is_banned == (len(ending) == n and ending in there)


def texts_before_stay(function, generator):
    """What was yielded stays: a text is a value, and every next one begins with it."""
    _, token_ids, mask = some_prompts(generator)
    model = Toy(int(generator.integers(0, 100))).model()
    texts = list(function(model, token_ids, mask=mask, stop=Stop(5, eos_ids=(0,))))
    for before, after in itertools.pairwise(texts):
        assert np.array_equal(after.token_ids[:, :-1], before.token_ids)
        assert np.all(after.is_done | ~before.is_done)
