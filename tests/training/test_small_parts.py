"""Windows, learning rates, the loss of the next token, and the loop that joins them."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from refimpl.layers.linear import linear
from refimpl.training.rate import warm_up_cosine
from refimpl.training.run import train
from refimpl.training.window_loss import window_loss
from refimpl.training.windows import windows


def test_targets_are_the_next_tokens():
    text = np.arange(100, 120)
    inputs, targets = windows(text, n_batch=50, n_seq=5, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(targets, inputs + 1)
    np.testing.assert_array_equal(np.diff(inputs, axis=1), 1)
    assert (inputs.min(), targets.max()) == (100, 119)  # the first and the last token are used


def test_a_text_of_one_window_has_one():
    inputs, _ = windows(np.arange(6), n_batch=3, n_seq=5, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(inputs, np.tile(np.arange(5), (3, 1)))
    with pytest.raises(ValueError, match="token_ids must be longer than a window of 6, got '6 tokens'"):
        windows(np.arange(6), n_batch=3, n_seq=6, generator=np.random.default_rng(0))


def test_the_rate_rises_and_falls():
    rates = [warm_up_cosine(i, n_step=11, n_warm_up=3, highest=1.0, lowest=0.1) for i in range(11)]
    assert rates[:4] == [1 / 3, 2 / 3, 1.0, 1.0]
    assert rates[-1] == 0.1
    assert all(a > b for a, b in itertools.pairwise(rates[3:]))
    middle = warm_up_cosine(5, n_step=11, n_warm_up=0, highest=1.0)
    assert abs(middle - 0.5) <= np.finfo(float).eps
    assert warm_up_cosine(0, n_step=1, n_warm_up=0, highest=2.0) == 2.0
    with pytest.raises(ValueError, match=r"n_warm_up must be in \[0, 3\), got 3"):
        warm_up_cosine(0, n_step=3, n_warm_up=3, highest=1.0)


def bigrams(token_ids, params):
    """A language model that looks at one token: a table of logits."""
    one_hot = (token_ids[..., None] == np.arange(5)).astype(np.float64)
    logits, pullback = linear(one_hot, {"weight": params["table"]})
    return logits, lambda dy: (({"table": pullback(dy)[1]["weight"]}),)


def test_a_table_of_bigrams_learns_what_follows_what():
    text = np.tile([0, 3, 1, 4, 2], 40)
    generator = np.random.default_rng(0)
    batches = [windows(text, n_batch=4, n_seq=8, generator=generator) for _ in range(300)]
    params = {"table": np.zeros((5, 5))}
    steps = list(train(partial(window_loss, bigrams), params, batches, rate=lambda step: 0.1))
    assert abs(steps[0].loss - math.log(5)) <= 4 * np.finfo(float).eps
    assert [steps[0].step, steps[-1].step] == [1, 300]
    assert steps[-1].loss < 0.01
    assert np.argmax(steps[-1].params["table"], axis=0).tolist() == [3, 4, 0, 1, 2]
    np.testing.assert_array_equal(params["table"], 0.0)
