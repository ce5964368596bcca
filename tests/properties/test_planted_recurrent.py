"""Every check of recurrent networks is shown a wrong one, and must reject it."""

from functools import partial

import numpy as np
import pytest

from compare.cases.bug import rewritten, wrong_gradients
from compare.cases.gru import wrong_gru
from compare.cases.lstm import wrong_lstm
from compare.cases.recurrent_bugs import wrong_sequence
from compare.cases.truncated import BUGS as TRUNCATED_BUGS
from refimpl.arrays import array_namespace
from refimpl.recurrent import layer, stack
from refimpl.recurrent.gru import gru
from refimpl.recurrent.lstm import lstm
from refimpl.recurrent.rnn import rnn
from refimpl.recurrent.truncated import truncated
from tests.properties import test_recurrent as properties

ONE_WAY = {"n_layer": 1, "n_direction": 1, "with_lengths": False}


def with_wrong_layer(function, **names):
    wrong = rewritten(layer.recurrent_layer, **names)
    level = rewritten(stack._level, recurrent_layer=wrong)
    return rewritten(function, recurrent_stack=rewritten(stack.recurrent_stack, _level=level))


def beginning_with_nothing(x, h, params, **settings):
    y, pullback = gru(x, 0.0 * h, params, **settings)
    return y, pullback


def mixing_the_batch(x, h, params, **settings):
    y, pullback = rnn(array_namespace(x).cumsum(x, axis=0), h, params, **settings)
    return y, pullback


def biases_of_their_own(gradients):
    *others, dparams = gradients
    return *others, {key: 2.0 * x if "bias_hh" in key else x for key, x in dparams.items()}


PLANTED = {
    "states run on past the end": (
        "gru", properties.each_sequence_stops_at_its_own_length, wrong_sequence(gru, "states run on past the end"), {},
    ),
    "padding not blanked": (
        "lstm", properties.padding_is_nothing, with_wrong_layer(lstm, _blanked=lambda xp, x, inside: x), {},
    ),
    "batch order that matters": ("rnn", properties.batch_order_is_nothing, mixing_the_batch, {}),
    "reverse direction not turned back": (
        "gru", properties.reading_backwards_is_reading_what_is_turned_round,
        wrong_sequence(gru, "reverse direction not turned back"),
        {"n_layer": 1, "n_direction": 2, "with_lengths": False},
    ),
    "state not carried on": ("gru", properties.chunks_carry_on, beginning_with_nothing, ONE_WAY),
    "gates in another order": (
        "gru", properties.a_sequence_is_its_cell_again_and_again, wrong_gru(gru, "gates in the order z r n"), ONE_WAY,
    ),
    "bias of the hidden state counted twice": (
        "lstm", properties.R2_two_biases_are_their_sum, wrong_gradients(lstm, biases_of_their_own), {},
    ),
    "gradient through the memory lost": (
        "lstm", properties.never_forgets, wrong_lstm(lstm, "gradient through the memory lost"), ONE_WAY,
    ),
}  # fmt: skip
WRONG_CUTS = {
    "gradient of the last state lost": (
        properties.one_chunk_is_the_full_gradient,
        rewritten(truncated, "dlast if i == len(pullbacks) - 1 else", ""),
    ),
    "gradient flows across the border": (
        properties.gradients_stay_within_their_chunk, TRUNCATED_BUGS["gradient flows across the border"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", PLANTED)
def test_wrong_recurrent_networks_are_rejected(bug):
    kind, check, wrong, wanted = PLANTED[bug]
    properties.drawn(kind, check, **wanted)
    with pytest.raises(AssertionError), np.errstate(all="ignore"):
        properties.drawn(kind, check, wrong, **wanted)


@pytest.mark.parametrize("bug", WRONG_CUTS)
def test_wrong_cuts_are_rejected(bug):
    check, wrong = WRONG_CUTS[bug]
    with pytest.raises(AssertionError):
        properties.drawn("gru", partial(check, cut=wrong), **ONE_WAY)
