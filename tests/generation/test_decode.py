import itertools

import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.generation import Constraints, Filters, Stop, decode, greedy, last, pad_left, sample
from refimpl.layers.softmax import softmax
from tests.generation.peer import chi_square, quantile_of_chi_square
from tests.generation.toy import PROMPTS, Toy

TOKENS, MASK = pad_left(PROMPTS)
STOP = Stop(max_new_tokens=9, eos_ids=(0,))


def numbers(n_row, n_step=9, seed=0):
    return np.random.default_rng(seed).random((n_row, n_step))


def test_greedy_takes_the_most_probable_token():
    toy = Toy(3)
    for prompt, written in zip(PROMPTS, last(greedy(toy.model(), TOKENS, mask=MASK, stop=STOP)).written(), strict=True):
        text = list(prompt)
        for token in written:
            assert token == int(np.argmax(toy.log_probabilities(text)))
            text.append(token)
        assert len(written) == 9 or written[-1] == 0


def test_a_cache_reads_every_token_once_and_changes_nothing():
    with_cache, without = Toy(1), Toy(1)
    texts = [
        last(sample(model, TOKENS, numbers(3), mask=MASK, stop=STOP))
        for model in (with_cache.model(), without.model(use_cache=False))
    ]
    np.testing.assert_array_equal(texts[0].token_ids, texts[1].token_ids)
    n = texts[0].n_new
    assert with_cache.n_token_read == 4 + n - 1
    assert without.n_token_read == sum(4 + i for i in range(n))


@pytest.mark.parametrize("write", [greedy, lambda *args, **kw: sample(*args, numbers(len(args[1])), **kw)])
def test_a_row_is_written_as_if_it_were_alone(write):
    together = last(write(Toy(2).model(), TOKENS, mask=MASK, stop=STOP)).written()
    alone = [last(write(Toy(2).model(), np.array([prompt]), stop=STOP)).written()[0] for prompt in PROMPTS[:1]]
    assert together[:1] == alone
    assert [last(greedy(Toy(2).model(), np.array([p]), stop=STOP)).written()[0] for p in PROMPTS] == last(
        greedy(Toy(2).model(), TOKENS, mask=MASK, stop=STOP)
    ).written()


def test_a_seed_says_what_is_written():
    texts = [
        last(sample(Toy().model(), TOKENS, np.random.default_rng(seed), mask=MASK, stop=STOP)).written()
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_texts_stream_and_earlier_ones_stay():
    texts = list(greedy(Toy(3).model(), TOKENS, mask=MASK, stop=STOP))
    assert [text.n_new for text in texts] == list(range(1, len(texts) + 1))
    for before, after in itertools.pairwise(texts):
        np.testing.assert_array_equal(after.token_ids[:, :-1], before.token_ids)


def test_a_row_that_has_ended_is_padded_and_the_last_one_ends_all():
    stop = Stop(max_new_tokens=30, eos_ids=(0, 1), pad_id=6)
    text = last(sample(Toy(sharpness=0.5).model(), TOKENS, numbers(3, 30, seed=4), mask=MASK, stop=stop))
    lengths = [len(row) for row in text.written()]
    assert len(set(lengths)) > 1
    assert text.n_new == max(lengths) < 30
    for row, n, mask in zip(text.token_ids[:, 4:], lengths, text.mask[:, 4:], strict=True):
        assert row[n - 1] in (0, 1)
        assert set(row[n:]) <= {6}
        assert mask.tolist() == [True] * n + [False] * (len(row) - n)


def test_bad_input_is_refused_before_anything_is_read():
    toy = Toy()
    with pytest.raises(ValueError, match="padding on the left only"):
        greedy(toy.model(), TOKENS, mask=MASK[:, ::-1])
    with pytest.raises(ValueError, match="max_length must be longer than the prompt"):
        sample(toy.model(), TOKENS, numbers(3), stop=Stop(max_length=4))
    with pytest.raises(TypeError, match="model must be a Model or its step function, got Toy"):
        greedy(toy, TOKENS)
    assert toy.n_token_read == 0
    with pytest.raises(ValueError, match=r"logits must be \(n_batch, n_new, vocab_size\), got \(3, 7\)"):
        next(greedy(lambda token_ids, cache, mask: (np.zeros((3, 7)), None), TOKENS))


FILTERS = Filters(temperature=1.4, top_k=5, top_p=0.9)
RULES = Constraints(repetition_penalty=1.3)


def exact(toy, prompt, n_new):
    """Probabilities of all texts of some new tokens, in the order of `itertools.product`."""
    probabilities = []
    for tokens in itertools.product(range(toy.vocab_size), repeat=n_new):
        text, probability = list(prompt), 1.0
        for token in tokens:
            logits = toy.logits(text)
            seen = np.isin(np.arange(toy.vocab_size), text)
            logits = np.where(seen, np.where(logits < 0, logits * 1.3, logits / 1.3), logits)
            probability *= softmax(FILTERS.apply(logits[None]))[0][0, token]
            text.append(token)
        probabilities.append(probability)
    return np.array(probabilities)


def statistic(toy, sampler, n_row=4000):
    prompts = np.repeat(np.array(PROMPTS[:1]), n_row, axis=0)
    text = last(sampler(toy.model(), prompts, np.random.default_rng(5), filters=FILTERS, constraints=RULES,
                        stop=Stop(max_new_tokens=2)))  # fmt: skip
    outcomes = text.token_ids[:, -2] * toy.vocab_size + text.token_ids[:, -1]
    return chi_square(np.bincount(outcomes, minlength=toy.vocab_size**2), exact(toy, PROMPTS[0], 2))


WRONG_SAMPLERS = {
    "no filters": rewritten(sample, "filters.apply(scores)", "scores"),
    "filters before the constraints": rewritten(sample, "filters.apply(scores)", "filters.apply(scores / 1.3)"),
    "the next token instead": rewritten(
        sample, draw=lambda p, u: (decode.draw(p, u) + 1) % p.shape[1]
    ),
    "the same number for every row": rewritten(
        sample, uniforms=lambda source, n, i, like: np.repeat(source.random(1), n)
    ),
    "numbers that are not uniform": rewritten(sample, uniforms=lambda source, n, i, like: source.random(n) ** 1.1),
}  # fmt: skip


def test_samples_have_the_exact_distribution():
    toy = Toy(4, sharpness=0.7)
    n_possible = np.count_nonzero(exact(toy, PROMPTS[0], 2))
    assert statistic(toy, sample) < quantile_of_chi_square(n_possible)


@pytest.mark.parametrize("name", WRONG_SAMPLERS)
def test_a_wrong_sampler_is_rejected(name):
    toy = Toy(4, sharpness=0.7)
    n_possible = np.count_nonzero(exact(toy, PROMPTS[0], 2))
    assert statistic(toy, WRONG_SAMPLERS[name]) > quantile_of_chi_square(n_possible)
