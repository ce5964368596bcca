"""The same weights in `transformers.generate` and in our GPT: the same tokens."""

import random
from functools import partial

import numpy as np
import pytest
import torch

from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.generation import (
    Constraints,
    Filters,
    Model,
    Stop,
    beam_search,
    greedy,
    last,
    pad_left,
    sample,
    speculative,
)
from refimpl.layers.softmax import softmax
from refimpl.models.gpt.step import gpt_step
from tests.generation.peer import PAD, generate, their_gpt2

PROMPTS = [[3, 4, 5, 6], [4, 5], [3, 1, 3]]
TOKENS, MASK = pad_left(PROMPTS, pad_id=PAD)
N_NEW = 7
ALWAYS = {"suppressed": (PAD,)}


def our_gpt2(theirs, *, use_cache=True):
    config = FAMILIES["gpt2"].config_from_hf({**theirs.config.to_dict(), "eos_token_id": 0})
    tensors = {name: tensor.numpy() for name, tensor in theirs.state_dict().items()}
    params = FAMILIES["gpt2"].names.from_hf(tensors, config)

    def step(token_ids, cache, mask):
        return gpt_step(token_ids, params, cache, config=config, mask=mask)

    return Model(step, use_cache=use_cache)


def stop_of(theirs):
    eos = theirs.config.eos_token_id
    return Stop(max_new_tokens=N_NEW, eos_ids=tuple(eos) if isinstance(eos, list) else (eos,), pad_id=PAD)


def rules(seed):
    """Draw constraints, in our names and in theirs."""
    generator = random.Random(seed)
    known = [
        ({"repetition_penalty": 1.7}, {"repetition_penalty": 1.7}),
        ({"no_repeat_ngram": 2}, {"no_repeat_ngram_size": 2}),
        ({"bad_words": ((3,), (4, 5))}, {"bad_words_ids": [[3], [4, 5]]}),
        ({"min_new_tokens": 3}, {"min_new_tokens": 3}),
        ({"forced_last": 0}, {"forced_eos_token_id": 0}),
        ({"suppressed_first": (6,)}, {"begin_suppress_tokens": [6]}),
    ]
    ours, theirs = {}, {}
    for mine, other in generator.sample(known, generator.randrange(4)):
        ours.update(mine)
        theirs.update(other)
    return Constraints(**ALWAYS, **ours), theirs


def eos_of(seed):
    return [0, 1] if seed % 3 == 0 else 0


@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy_search_token_for_token(use_cache):
    n_ended = 0
    for seed in range(8):
        theirs = their_gpt2(seed, eos=eos_of(seed), n_layer=2)
        constraints, settings = rules(seed)
        want, _ = generate(theirs, TOKENS, MASK, N_NEW, **settings)
        ours = our_gpt2(theirs, use_cache=use_cache)
        text = last(greedy(ours, TOKENS, mask=MASK, stop=stop_of(theirs), constraints=constraints))
        assert text.written() == want
        n_ended += sum(len(tokens) < N_NEW for tokens in want)
    assert n_ended > 0


BEAMS = [
    {"length_penalty": penalty, "early_stopping": early}
    for penalty in (0.0, 1.0, 2.0, -1.0) for early in (True, False, "never")
]  # fmt: skip


@pytest.mark.parametrize("settings", BEAMS, ids=str)
def test_beam_search_token_for_token(settings):
    for seed in range(4):
        n_beam = 2 + seed
        theirs = their_gpt2(seed + 20, eos=eos_of(seed))
        constraints, more = rules(seed)
        want, out = generate(
            theirs, TOKENS, MASK, N_NEW, num_beams=n_beam, num_return_sequences=n_beam, **settings, **more,
            return_dict_in_generate=True, output_scores=True,
        )  # fmt: skip
        found = beam_search(our_gpt2(theirs), TOKENS, mask=MASK, n_beam=n_beam, n_return=n_beam, **settings,
                            stop=stop_of(theirs), constraints=constraints)  # fmt: skip
        assert [tokens for of_prompt in found.tokens for tokens in of_prompt] == want
        # Their scores are sums in float32 of at most seven logarithms, none of which is larger than the sum.
        scores = np.ravel(found.scores)
        lengths = np.array([len(tokens) for tokens in want])
        rounded = 4 * N_NEW * np.finfo(np.float32).eps * np.abs(scores)
        assert np.all(np.abs(scores - out.sequences_scores.numpy()) <= rounded), lengths


def test_samples_are_drawn_from_their_distributions():
    """At every step their scores, after constraints and filters, have the softmax that we draw from."""
    filters = {"temperature": 1.3, "top_k": 8, "top_p": 0.9, "min_p": 0.02}
    for seed in range(6):
        theirs = their_gpt2(seed, scale=0.3)
        constraints, more = rules(seed)
        torch.manual_seed(seed)
        _, out = generate(theirs, TOKENS, MASK, N_NEW, do_sample=True, return_dict_in_generate=True,
                          output_scores=True, **filters, **more)  # fmt: skip
        seen = []
        replayed = out.sequences.numpy()[:, TOKENS.shape[1] :]

        def spy(logits, text, replayed=replayed, seen=seen):
            seen.append(softmax(Filters(**filters).apply(logits))[0])
            # Drawn by them: whatever is left, this token comes.
            return np.where(np.arange(logits.shape[1]) == replayed[:, text.n_new][:, None], 0.0, -np.inf)

        spied = Constraints(**{name: getattr(constraints, name) for name in constraints.__dataclass_fields__} |
                            {"more": (spy,)})  # fmt: skip
        last(sample(our_gpt2(theirs), TOKENS, np.random.default_rng(0), mask=MASK, constraints=spied,
                    stop=stop_of(theirs)))  # fmt: skip
        running = np.ones(len(PROMPTS), bool)
        for step, scores in enumerate(out.scores):
            p = softmax(scores.numpy().astype(np.float64))[0][running]
            ours = seen[step][running]
            np.testing.assert_array_equal(ours > 0.0, p > 0.0)
            # Their logits were rounded to float32 before a few operations: an error of logits is one of log p.
            logits = np.where(p > 0.0, scores.numpy()[running], 0.0)
            bound = 16 * np.finfo(np.float32).eps * (1.0 + np.max(np.abs(logits), axis=-1, keepdims=True))
            assert np.all(np.abs(ours - p) <= bound * p)
            running = running & (replayed[:, step] != 0)


@pytest.mark.parametrize("n_draft", [1, 3])
def test_assisted_greedy_search_token_for_token(n_draft):
    for seed in range(4):
        theirs, assistant = their_gpt2(seed), their_gpt2(seed + (seed % 2), scale=0.59)
        prompt = TOKENS[:1]
        want, _ = generate(theirs, prompt, MASK[:1], N_NEW, assistant_model=assistant)
        settings = {"filters": Filters(top_k=1), "stop": stop_of(theirs), "constraints": Constraints(**ALWAYS)}
        numbers = np.random.default_rng(0)
        texts = speculative(our_gpt2(theirs), our_gpt2(assistant), prompt, numbers, n_draft=n_draft, **settings)
        assert last(texts).written() == want


def test_stop_strings_end_where_theirs_do():
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE({chr(97 + i): i for i in range(13)}, []))
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    n_ended = 0
    for seed in range(6):
        theirs = their_gpt2(seed, eos=12)
        free, _ = generate(theirs, TOKENS, MASK, N_NEW)
        strings = tuple(tokenizer.decode(tokens[2:4]).replace(" ", "") for tokens in free[:2] if len(tokens) > 3)
        want, _ = generate(theirs, TOKENS, MASK, N_NEW, stop_strings=list(strings), tokenizer=fast)
        to_string = partial(spelled, tokenizer)
        stop = Stop(max_new_tokens=N_NEW, eos_ids=(12,), strings=strings, to_string=to_string, pad_id=PAD)
        text = last(greedy(our_gpt2(theirs), TOKENS, mask=MASK, stop=stop, constraints=Constraints(**ALWAYS)))
        ended = [tokens[: tokens.index(PAD)] if PAD in tokens else tokens for tokens in want]
        assert text.written() == ended
        n_ended += sum(len(tokens) < N_NEW for tokens in ended)
    assert n_ended > 0


def spelled(tokenizer, tokens):
    return tokenizer.decode(list(tokens))
