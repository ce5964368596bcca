"""Every promise that one component makes alone is shown a wrong component, and must reject it."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from compare.cases.bug import rewritten
from refimpl.arrays import array_namespace, check_gradient, scatter_add
from refimpl.attention.dot_product import attention, attention_weights
from refimpl.attention.mask import causal_mask, length_mask
from refimpl.attention.multi_head import self_attention
from refimpl.layers.cross_entropy import cross_entropy
from refimpl.layers.dropout import dropout
from refimpl.layers.embedding import embedding
from refimpl.layers.gelu import gelu
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.layers.softmax import log_softmax, softmax
from refimpl.models.bert.model import bert
from refimpl.models.gpt import model, step
from refimpl.models.gpt.heads import gpt_lm
from refimpl.models.gpt.model import gpt
from refimpl.positions.sinusoidal import sinusoidal_positions
from refimpl.recurrent.gru import gru_cell
from tests.properties import test_attention, test_bert, test_gpt, test_layers, test_recurrent
from tests.properties.examples import run
from tests.properties.refusals import refuses_bad_gradients, refuses_bad_input
from tests.properties.registry import component_of
from tests.properties.test_planted import (
    dropout_rescaled_in_the_forward_only,
    layer_norm_without_mean_term,
    rejects,
    softmax_without_row_sum,
    with_pullback,
)

FAR_BELOW = -1e9


def lowered_softmax(x, *, mask=None, axis=-1):
    return softmax(x if mask is None else array_namespace(x).where(mask, x, FAR_BELOW), axis=axis)


def overflowing_softmax(x, *, mask=None, axis=-1):
    exps = np.exp(x) if mask is None else np.where(mask, np.exp(x), 0.0)
    return exps / np.sum(exps, axis=axis, keepdims=True), None


def counted_once(ids, rows, n):
    """Of every id, only its first occurrence."""
    xp = array_namespace(ids, rows)
    place = xp.arange(ids.shape[0])
    is_repeated = xp.any((ids[:, None] == ids[None, :]) & (place[None, :] < place[:, None]), axis=1)
    return scatter_add(ids, xp.where(is_repeated[:, None], 0.0, rows), n)


def dropout_without_rescaling(x, *, keep, rate):
    return dropout(x, keep=keep, rate=0.0)


def unscaled_attention(*arrays, scale=None, **settings):
    return attention(*arrays, scale=1.0 if scale is None else scale, **settings)


def knowing_positions(x, params, **settings):
    return self_attention(sinusoidal_positions(x)[0], params, **settings)


def bert_without_mask(*args, mask=None, **settings):
    return bert(*args, **settings)


def bert_filling_in_the_last_dy(*args, **settings):
    states, pullback = bert(*args, **settings)
    return states, lambda dy: pullback(tuple(dy[-1] if part is None else part for part in dy))


def gru_forgetting_a_bias_before_the_reset(x, h, params, *, reset="after"):
    kept = {key: value for key, value in params.items() if reset == "after" or key != "weight_hh"}
    zeros = {"weight_hh": 0.0 * params["weight_hh"]}
    return gru_cell(x, h, zeros | kept, reset=reset)


class FirstRow:
    """What a test draws inside: always the first."""

    def draw(self, strategy):
        return 0


LOWERED_WEIGHTS = rewritten(attention_weights, softmax=lowered_softmax)
GENERATOR = "a generator, another one for each call"
# The test's module and function, the component, the variant that breaks the promise, and what else the test is given.
BROKEN = {
    "masked scores lowered by a large number": (
        test_layers, "test_softmax_rows_sum_to_1_or_0", softmax, lowered_softmax,
    ),
    "softmax without subtracting the maximum": (
        test_layers, "test_softmax_is_blind_to_a_shift", softmax, overflowing_softmax, 4096.0,
    ),
    "softmax gradient without its row sum": (
        test_layers, "test_softmax_gradients_sum_to_0", softmax, softmax_without_row_sum,
    ),
    "log-softmax gradient without its row sum": (
        test_layers, "test_log_softmax_gradients_sum_to_0", log_softmax,
        with_pullback(log_softmax, lambda g, dy: (dy + 0.0,)),
    ),
    "log-softmax of the loss without its row sum": (
        test_layers, "test_cross_entropy_gradients_sum_to_0", cross_entropy,
        rewritten(cross_entropy, "(drows,) = log_softmax_pullback(-weighed_q * dlosses[:, None])",
                  "drows = -weighed_q * dlosses[:, None]"),
    ),
    "layer norm gradient without its mean": (
        test_layers, "test_layer_norm_gradient_is_orthogonal_to_1_and_to_x_hat", layer_norm,
        layer_norm_without_mean_term,
    ),
    "eps that does not scale along": (
        test_layers, "test_layer_norm_is_blind_to_shift_and_scale", layer_norm,
        lambda x, params, *, eps: layer_norm(x, params, eps=1e-2), 0.5, 0.125,
    ),
    "GELU without the 1 beside erf": (
        test_layers, "test_gelu_of_x_minus_gelu_of_minus_x_is_x", gelu, rewritten(gelu, "(1.0 + erf(", "(erf("),
    ),
    "dropout rescaled in the forward only": (
        test_layers, "test_dropout_sends_gradients_through_the_same_mask", dropout,
        dropout_rescaled_in_the_forward_only,
    ),
    "a repeated id counts once": (
        test_layers, "test_embedding_gradient_is_a_plain_loop_over_ids", embedding,
        rewritten(embedding, scatter_add=counted_once),
    ),
    "weights of a row that sees nothing": (
        test_attention, "test_rows_of_weights_sum_to_1_or_0", attention_weights, LOWERED_WEIGHTS,
    ),
    "scores without scale": (test_attention, "test_attention_is_its_definition", attention, unscaled_attention),
    "a row that sees nothing sees the mean": (
        test_attention, "test_a_row_that_sees_nothing_changes_no_other_row", attention,
        rewritten(attention, attention_weights=LOWERED_WEIGHTS), FirstRow(),
    ),
    "mask of BERT forgotten": (test_bert, "test_ids_under_the_mask_never_matter", bert, bert_without_mask, GENERATOR),
    "BERT attends to the padding": (
        test_bert, "test_a_sentence_reads_alike_alone_and_padded", bert, bert_without_mask, GENERATOR,
    ),
    "a missing dy is filled in": (test_bert, "test_states_without_dy_count_as_0", bert, bert_filling_in_the_last_dy),
    "GPT sees the next token": (
        test_gpt, "test_what_is_to_come_never_matters", gpt,
        rewritten(gpt, _blocks=rewritten(
            model._blocks, causal_mask=rewritten(causal_mask, "+ n_before", "+ n_before + 1")
        )), GENERATOR,
    ),
    "mask of GPT forgotten": (
        test_gpt, "test_tokens_under_the_mask_never_matter", gpt,
        rewritten(gpt, "_blocks(config, token_ids, mask)", "_blocks(config, token_ids, None)"), GENERATOR,
    ),
    "positions of GPT count padding": (
        test_gpt, "test_a_text_reads_alike_alone_and_padded", gpt,
        rewritten(gpt, "text_positions(token_ids, mask=mask)", "text_positions(token_ids)"), GENERATOR,
    ),
    "one reset without the state": (
        test_recurrent, "test_both_resets_are_one_where_nothing_is_reset", gru_cell,
        gru_forgetting_a_bias_before_the_reset,
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", BROKEN)
def test_a_broken_promise_is_noticed(bug, monkeypatch):
    module, test, function, wrong, *others = BROKEN[bug]
    component = replace(component_of(function), function=wrong)
    monkeypatch.setattr(module, "component_of", lambda _: component)
    if function in (softmax, layer_norm, gelu, dropout):
        monkeypatch.setattr(module, function.__name__, wrong)
    judged = getattr(module, test).hypothesis.inner_test

    def check(_, call):
        generator = np.random.default_rng(call.seed)
        judged(call, *[generator if other is GENERATOR else other for other in others])

    with pytest.raises(AssertionError), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(check, component_of(function), shrink=False)


def test_self_attention_that_knows_positions_is_rejected(monkeypatch):
    component = replace(component_of(self_attention), function=knowing_positions)
    monkeypatch.setattr(test_attention, "component_of", lambda _: component)
    monkeypatch.setattr(test_attention, "run", partial(run, shrink=False))
    with pytest.raises(AssertionError):
        test_attention.test_self_attention_without_positions_is_equivariant()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("next_positions(remembered[0].n_seen", "next_positions(0 * remembered[0].n_seen"),
        ("is_token=is_token,\n", "is_token=None,\n"),
        ("grown.append(layer_grown)", "grown.append(layer_past)"),
    ],
    ids=["the past is not counted", "padding is remembered as tokens", "nothing is remembered"],
)
def test_a_wrong_step_is_rejected(monkeypatch, old, new):
    monkeypatch.setattr(test_gpt, "gpt_step", rewritten(step.gpt_step, gpt_read=rewritten(step.gpt_read, old, new)))
    judged = test_gpt.test_steps_are_the_whole.hypothesis.inner_test

    def check(_, call):
        # The drawn seed is too often 0 to see texts padded in many ways.
        judged(call, np.random.default_rng([call.seed, *call.arrays["token_ids"].ravel()]))

    with pytest.raises(AssertionError):
        run(check, replace(component_of(gpt_lm), weight=1), shrink=False)


def test_dropout_that_is_not_rescaled_is_rejected(monkeypatch):
    monkeypatch.setattr(test_layers, "dropout", dropout_without_rescaling)
    with pytest.raises(AssertionError):
        test_layers.test_dropout_keeps_the_expectation.hypothesis.inner_test(np.random.default_rng(0), 0.25)


def test_a_causal_mask_aligned_at_the_other_end_is_rejected(monkeypatch):
    judged = test_attention.test_causal_mask_is_its_loop.hypothesis.inner_test
    monkeypatch.setattr(test_attention, "causal_mask", lambda *sizes, like, align: causal_mask(*sizes, like=like))
    judged(1, 8, "bottom_right")
    with pytest.raises(AssertionError):
        judged(1, 8, "top_left")


def test_a_length_off_by_one_is_rejected(monkeypatch):
    judged = test_attention.test_length_and_padding_masks_are_their_loops.hypothesis.inner_test
    monkeypatch.setattr(test_attention, "length_mask", lambda lengths, n: length_mask(lengths + 1, n + 1)[:, :n])
    with pytest.raises(AssertionError):
        judged([2, 3])


def test_refusals_that_name_nothing_are_rejected():
    def curt(x, params):
        try:
            return linear(x, params)
        except (TypeError, ValueError) as error:
            raise type(error)("bad input") from None

    rejects(refuses_bad_input, linear, curt)


def test_a_gradient_that_is_broadcast_is_rejected():
    def of_any_shape(dy, shape, dtype):
        check_gradient(dy, getattr(dy, "shape", shape), dtype)

    lax = rewritten(softmax, check_gradient=of_any_shape)
    rejects(refuses_bad_gradients, softmax, lax, error=pytest.fail.Exception)


def test_a_list_taken_for_an_array_is_rejected():
    def lax(x, params):
        return linear(np.asarray(x) if isinstance(x, list) else x, params)

    rejects(refuses_bad_input, linear, lax, error=pytest.fail.Exception)
