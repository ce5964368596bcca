"""What attention, and what is built of it, promises about masks, order and padding."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import strategies
from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.mask import causal_mask, length_mask, padding_mask
from refimpl.attention.multi_head import multi_head_attention, self_attention
from refimpl.blocks.encoder import encoder
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from tests.properties import draw_attention
from tests.properties.component import cotangents
from tests.properties.examples import run
from tests.properties.registry import component_of
from tests.properties.rounding import assert_close, spread_run

SEQUENCE_COMPONENTS = [component_of(f) for f in (self_attention, post_norm_block, pre_norm_block, encoder)]
for_sequences = pytest.mark.parametrize("component", SEQUENCE_COMPONENTS, ids=str)


@given(draw_attention.attention_weights_calls())
def test_rows_of_weights_sum_to_1_or_0(call):
    component = component_of(attention_weights)
    y, _ = component(call)
    spreads, _ = spread_run(component, call)
    mask = call.settings["mask"]
    sees_something = np.any(np.broadcast_to(True if mask is None else mask, y.shape), axis=-1)
    sigma = np.sum(spreads["y"].sigma, axis=-1)
    assert_close(np.sum(y, axis=-1), sees_something.astype(np.float64), sigma, name="row sum", n_rounded=1)


@given(draw_attention.attention_calls())
def test_attention_is_its_definition(call):
    component = component_of(attention)
    y, _ = component(call)
    spreads, _ = spread_run(component, call)
    assert_close(y, _plain_attention(**call.arrays, **call.settings), spreads["y"].sigma, name="y")


def _plain_attention(q, k, v, bias=None, *, mask, scale, softcap, keep, rate):
    """Equation 1 of Vaswani et al. in loops over Python numbers."""
    y = np.zeros((*q.shape[:-1], v.shape[-1]))
    scores_shape = (*q.shape[:-1], k.shape[-2])
    mask = np.broadcast_to(True if mask is None else mask, scores_shape)
    bias = np.broadcast_to(0.0 if bias is None else bias, scores_shape)
    scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    for *batch, i in np.ndindex(*q.shape[:-1]):
        scores = {}
        for j in range(k.shape[-2]):
            score = scale * math.fsum(q[(*batch, i, c)] * k[(*batch, j, c)] for c in range(q.shape[-1]))
            score = score if softcap is None else softcap * math.tanh(score / softcap)
            if mask[(*batch, i, j)]:
                scores[j] = score + bias[(*batch, i, j)]
        highest = max(scores.values(), default=0.0)
        total = math.fsum(math.exp(score - highest) for score in scores.values())
        for j, score in scores.items():
            weight = math.exp(score - highest) / total
            if keep is not None:
                weight = weight / (1.0 - rate) if keep[(*batch, i, j)] else 0.0
            y[(*batch, i)] += weight * v[(*batch, j)]
    return y


def test_self_attention_without_positions_is_equivariant():
    def check(component, call):
        call = replace(call, settings=call.settings | {"mask": None, "keep": None})
        x = call.arrays["x"]
        order = np.random.default_rng(call.seed).permutation(x.shape[1])
        y, _ = component(call)
        got, _ = component(replace(call, arrays={"x": x[:, order]}))
        spreads, _ = spread_run(component, call)
        assert_close(got, y[:, order], spreads["y"].sigma[:, order], name="y")

    run(check, component_of(self_attention))


def causality(component, call):
    """Later positions reach no earlier output, and earlier dy no later dx: not one bit, not a NaN."""
    x = call.arrays["x"]
    n_seq = x.shape[1]
    causal = replace(call, settings=call.settings | {"mask": causal_mask(n_seq, n_seq, like=x)})
    y, pullback = component(causal)
    generator = np.random.default_rng(call.seed)
    for n_before in range(1, n_seq):
        later = np.arange(n_seq)[:, None] >= n_before
        changed, _ = component(replace(causal, arrays={"x": np.where(later, generator.standard_normal(x.shape), x)}))
        last, last_changed = (states[-1] if isinstance(states, tuple) else states for states in (y, changed))
        np.testing.assert_array_equal(last_changed[:, :n_before], last[:, :n_before])

        dy = cotangents(y, call.seed)
        early = tuple(np.where(later, 0.0, part) for part in dy) if isinstance(dy, tuple) else np.where(later, 0.0, dy)
        dx = component.gradients(pullback, early, causal)["x"]
        np.testing.assert_array_equal(dx[:, n_before:], 0.0)


@for_sequences
def test_causality_is_exact(component):
    run(causality, component)


def padding_is_nothing(component, call):
    """What stands under the padding changes no output of a token, and no gradient that comes from tokens."""
    x = call.arrays["x"]
    is_token = _some_tokens(call, x.shape[:2])
    padded = replace(call, settings=call.settings | {"mask": padding_mask(is_token)})
    other = np.where(is_token[..., None], x, np.random.default_rng(call.seed).standard_normal(x.shape))
    results = []
    for content in (x, other):
        y, pullback = component(replace(padded, arrays={"x": content}))
        states = y if isinstance(y, tuple) else (y,)
        dy = tuple(np.where(is_token[..., None], part, 0.0) for part in cotangents(states, call.seed))
        gradients = component.gradients(pullback, dy if isinstance(y, tuple) else dy[0], padded)
        results.append({"y": np.stack(states)[:, is_token], **gradients})
        np.testing.assert_array_equal(gradients["x"][~is_token], 0.0)
    for name, result in results[0].items():
        np.testing.assert_array_equal(results[1][name], result, err_msg=name)


def _some_tokens(call, shape):
    is_token = np.random.default_rng(call.seed).random(shape) < 0.6
    return is_token | (np.arange(shape[1]) == 0)  # no sentence without a token


@for_sequences
def test_padding_content_never_matters(component):
    run(padding_is_nothing, component)


def nan_stays_in_padding(component, call, junk):
    """Keys and values that no query attends to may hold anything; where they lie the gradient is 0."""
    n_key = call.arrays["k"].shape[-2]
    hidden = np.random.default_rng(call.seed).random(n_key) < 0.5
    mask = call.settings["mask"]
    scores_rank = 2 if mask is None else mask.ndim
    nobody = np.zeros((1,) * (scores_rank - 1) + (n_key,), bool) | ~hidden
    clean = replace(call, settings=call.settings | {"mask": nobody if mask is None else mask & nobody})
    spoilt = {
        name: np.where(hidden[:, None], junk, x) if name in ("k", "v") else x for name, x in clean.arrays.items()
    }
    want, got = component.run(clean), component.run(replace(clean, arrays=spoilt))
    for name, x in (want[0] | want[1]).items():
        np.testing.assert_array_equal((got[0] | got[1])[name], x, err_msg=name)
        assert np.all(np.isfinite(x)), name
    for name in clean.arrays.keys() & {"k", "v"}:
        np.testing.assert_array_equal(want[1][name][..., hidden, :], 0.0, err_msg=name)


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("function", [attention_weights, attention, multi_head_attention])
def test_nan_in_padding_reaches_nothing(function, junk):
    run(lambda component, call: nan_stays_in_padding(component, call, junk), component_of(function))


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["bottom_right", "top_left"]))
def test_causal_mask_is_its_loop(n_query, n_key, align):
    mask = causal_mask(n_query, n_key, like=np.zeros(1), align=align)
    assert mask.shape == (n_query, n_key)
    for i, j in itertools.product(range(n_query), range(n_key)):
        if align == "top_left":
            assert mask[i, j] == (j <= i)
        else:
            # Counted from the ends: the last query sees all keys, the one before it all but the last.
            assert mask[i, j] == (n_key - 1 - j >= n_query - 1 - i)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_length_and_padding_masks_are_their_loops(lengths):
    is_token = length_mask(np.array(lengths), 5)
    assert is_token.tolist() == [[j < length for j in range(5)] for length in lengths]
    np.testing.assert_array_equal(padding_mask(is_token), np.array(is_token)[:, None, None, :])


@given(draw_attention.attention_calls(), st.data())
def test_a_row_that_sees_nothing_changes_no_other_row(call, data):
    """A1: output and dq of the row are 0, everything else is as without the row."""
    component = component_of(attention)
    *batch, n_query, n_key = (*call.arrays["q"].shape[:-1], call.arrays["k"].shape[-2])
    row = data.draw(st.integers(0, n_query - 1))
    mask = np.broadcast_to(True if call.settings["mask"] is None else call.settings["mask"], (*batch, n_query, n_key))
    blind = mask & (np.arange(n_query)[:, None] != row)
    others = np.arange(n_query) != row
    y, gradients = component.run(replace(call, settings=call.settings | {"mask": blind}))
    seeing, _ = component.run(replace(call, settings=call.settings | {"mask": mask}))
    np.testing.assert_array_equal(y["y"][..., row, :], 0.0)
    np.testing.assert_array_equal(gradients["q"][..., row, :], 0.0)
    assert all(np.all(np.isfinite(x)) for x in gradients.values())
    np.testing.assert_array_equal(y["y"][..., others, :], seeing["y"][..., others, :])


@given(strategies.masks((2, 3, 4, 5)))
def test_drawn_masks_broadcast(mask):
    assert np.broadcast_to(mask, (2, 3, 4, 5)).dtype == bool
