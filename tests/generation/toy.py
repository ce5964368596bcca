"""A toy language model with a memory: a decaying sum of what it has read.  Small, exact to reason about, quick."""

import numpy as np

from refimpl.generation import Model


class Toy:
    """Its cache is the sums after every token, shape (n_batch, n_seq, d); padding leaves a sum as it is."""

    def __init__(self, seed=0, vocab_size=7, d=5, sharpness=2.0):
        generator = np.random.default_rng(seed)
        self.embedding = generator.normal(size=(vocab_size, d))
        self.head = sharpness * generator.normal(size=(d, vocab_size))
        self.vocab_size = vocab_size
        self.n_token_read = 0

    def states(self, token_ids, cache, mask):
        n_batch, n_new = token_ids.shape
        self.n_token_read += n_new
        assert mask.shape[0] == n_batch
        assert mask.shape[1] == n_new + (0 if cache is None else cache.shape[1])
        nothing = np.zeros((n_batch, self.embedding.shape[1]))
        states = [nothing if cache is None or not cache.shape[1] else cache[:, -1]]
        for i in range(n_new):
            there = mask[:, mask.shape[1] - n_new + i][:, None]
            states.append(np.where(there, 0.6 * states[-1] + self.embedding[token_ids[:, i]], states[-1]))
        new = np.stack(states[1:], axis=1)
        return new, new if cache is None else np.concatenate([cache, new], axis=1)

    def step(self, token_ids, cache, mask):
        states, cache = self.states(token_ids, cache, mask)
        return self.score(states), cache

    def step_with_states(self, token_ids, cache, mask):
        states, cache = self.states(token_ids, cache, mask)
        return (self.score(states), states), cache

    def score(self, states):
        # Not by a matrix product: its bits depend on how many rows there are.
        return np.sum(np.tanh(states)[..., None] * self.head, axis=-2)

    def model(self, *, use_cache=True, with_states=False):
        step = self.step_with_states if with_states else self.step
        return Model(
            step, lambda cache, rows: cache[rows], lambda cache, n: cache[:, : cache.shape[1] - n], use_cache=use_cache
        )

    # What follows is written plainly, for oracles.
    def state(self, tokens):
        state = np.zeros(self.embedding.shape[1])
        for token in tokens:
            state = 0.6 * state + self.embedding[token]
        return state

    def logits(self, tokens):
        return self.score(self.state(tokens))

    def log_probabilities(self, tokens):
        logits = self.logits(tokens)
        return logits - np.log(np.sum(np.exp(logits)))


PROMPTS = [[3, 4, 5, 6], [1, 2], [2, 2, 5]]
