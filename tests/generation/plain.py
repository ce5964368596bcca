"""Searches written a second time, plainly and for one text at a time: oracles for those of `refimpl.generation`."""

import itertools
import math

import numpy as np


def best_texts(log_probabilities, prompt, n_new, eos, length_penalty):
    """Every text there is, the best first: what a beam search with enough beams must find."""
    vocab_size = len(log_probabilities(prompt))
    found = []
    for n in range(1, n_new + 1):
        for tokens in itertools.product(range(vocab_size), repeat=n):
            ends = [i for i, token in enumerate(tokens) if token == eos]
            if ends[:1] == [n - 1] or (n == n_new and not ends):
                score = sum(log_probabilities([*prompt, *tokens[:i]])[tokens[i]] for i in range(n))
                found.append((score / n**length_penalty, list(tokens)))
    return sorted(found, reverse=True)


def diverse_beams(log_probabilities, prompt, n_new, eos, n_beam, n_group, penalty, length_penalty):
    """Algorithm 1 of Vijayakumar et al.: dictionaries of texts and scores, one group after another.

    A group has ended when it has as many finished texts as beams, none of them worse than its best running beam.
    """
    size = n_beam // n_group
    running = [{(): 0.0} for _ in range(n_group)]
    finished = [{} for _ in range(n_group)]
    for length in range(1, n_new + 1):
        chosen_before = []
        for g in range(n_group):
            scores = {}
            for tokens, so_far in running[g].items():
                for token, log_p in enumerate(log_probabilities([*prompt, *tokens])):
                    scores[(*tokens, token)] = so_far + log_p - penalty * chosen_before.count(token)
            ranked = sorted(scores, key=scores.get, reverse=True)[: 2 * size]
            goes_on = [t for t in ranked if t[-1] != eos][:size]
            for t in ranked[:size]:
                if t[-1] == eos or length == n_new:
                    finished[g][t] = scores[t] / length**length_penalty
            finished[g] = dict(sorted(finished[g].items(), key=lambda item: -item[1])[:size])
            running[g] = {t: scores[t] for t in goes_on} if length < n_new else {}
            if len(finished[g]) == size and running[g]:
                best = max(running[g].values()) / length**length_penalty
                if best <= min(finished[g].values()):
                    running[g] = {}
            chosen_before += [t[-1] for t in goes_on]
    found = sorted(((score, list(t)) for group in finished for t, score in group.items()), key=lambda pair: -pair[0])
    return found[:n_beam]


def contrastive_tokens(log_probabilities, state, prompt, n_new, eos, k, alpha):
    """Equation 5 of Su et al., every hidden state computed anew."""
    text = list(prompt)
    for _ in range(n_new):
        probabilities = np.exp(log_probabilities(text))
        tried = np.argsort(-probabilities)[:k]
        past = [state(text[: i + 1]) for i in range(len(text))]
        values = []
        for token in tried:
            new = state([*text, token])
            cosines = [new @ old / math.sqrt((new @ new) * (old @ old)) for old in past]
            values.append((1 - alpha) * probabilities[token] - alpha * max(cosines))
        text.append(int(tried[int(np.argmax(values))]))
        if text[-1] == eos:
            break
    return text[len(prompt) :]
