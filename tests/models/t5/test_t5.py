from dataclasses import replace

import numpy as np
import pytest

from refimpl.blocks.decoding.biased_attention import distance_bias
from refimpl.checkpoints.families.t5.names import t5_rows
from refimpl.models.t5.config import T5Config
from refimpl.models.t5.heads import t5_lm
from refimpl.models.t5.model import t5
from refimpl.models.t5.step import t5_start, t5_step
from refimpl.positions.bucketed import bucketed_bias

CONFIG = T5Config(
    vocab_size=7, d_model=5, d_head=3, n_head=2, n_layer=1, n_decoder_layer=2, d_ff=4, n_bucket=4, max_distance=5
)
RNG = np.random.default_rng(0)
PARAMS = {row.ours: RNG.standard_normal(row.our_shape) for row in t5_rows(CONFIG) if row.group == "backbone"}
SOURCE, TARGET = np.array([[3, 4, 5, 0], [6, 5, 4, 3]]), np.array([[0, 4, 6], [0, 3, 3]])


def test_a_source_reads_alike_whichever_side_is_padded():
    """Distances know no beginning."""
    left, right = np.array([[0, 0, 3, 4, 5]]), np.array([[3, 4, 5, 0, 0]])
    one, _ = t5_lm(left, TARGET[:1], PARAMS, config=CONFIG, mask=left != 0)
    other, _ = t5_lm(right, TARGET[:1], PARAMS, config=CONFIG, mask=right != 0)
    assert np.abs(one - other).max() < 2.0**-40


def test_the_row_of_the_padding_token_is_trained():
    states, pullback = t5(SOURCE, TARGET, PARAMS, config=CONFIG)
    assert np.any(pullback(states)[0]["embedding.weight"][0])


def test_a_tied_head_is_scaled_and_one_of_its_own_need_not_be():
    tied, _ = t5_lm(SOURCE, TARGET, PARAMS, config=CONFIG)
    own = PARAMS | {"head.weight": PARAMS["embedding.weight"]}
    untied, pullback = t5_lm(SOURCE, TARGET, own, config=replace(CONFIG, scale_logits=False))
    assert np.abs(untied / 5**0.5 - tied).max() < 2.0**-45
    assert pullback(untied)[0].keys() == own.keys()


@pytest.mark.parametrize("n_before", [0, 3, 20])
def test_the_bias_of_a_step_is_that_of_the_whole(n_before):
    params = {"weight": PARAMS["decoder.distances.weight"]}
    n_key = n_before + 2
    whole, _ = bucketed_bias(params, n_query=2, n_key=n_key, max_distance=5, bidirectional=False)
    keys = np.arange(n_key)[None]
    np.testing.assert_array_equal(distance_bias(keys[:, n_before:], keys, params, max_distance=5)[0], whole)


def test_distances_jump_over_what_is_padding_in_memory():
    """A hole that a search has left in the cache counts as no distance."""
    params = {"weight": PARAMS["decoder.distances.weight"]}
    queries, keys = np.array([[2]]), np.array([[0, -1, 1, 2]])
    got = distance_bias(queries, keys, params, max_distance=5)[0, :, 0]
    want = distance_bias(queries, np.array([[0, 1, 2]]), params, max_distance=5)[0, :, 0]
    np.testing.assert_array_equal(got[:, [0, 2, 3]], want)


def test_no_sentences():
    states, pullback = t5(SOURCE[:0], TARGET[:0], PARAMS, config=CONFIG)
    assert not any(np.any(gradient) for gradient in pullback(states)[0].values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_ids": SOURCE + 3}, r"source_ids must lie in \[0, 7\), got values from 3 to 9"),
        ({"target_ids": TARGET[:1]}, r"target_ids must have shape \(2, any\), got \(1, 3\)"),
        ({"mask": SOURCE[:, :3] > 0}, r"mask must have shape \(2, 4\), got \(2, 3\)"),
        ({"config": replace(CONFIG, gated=True)}, "params must have the keys"),
        ({"config": None}, "config must be a T5Config, got None"),
    ],
)
def test_bad_input(changes, message):
    given = {"source_ids": SOURCE, "target_ids": TARGET, "config": CONFIG} | changes
    with pytest.raises(ValueError, match=message):
        t5(given.pop("source_ids"), given.pop("target_ids"), PARAMS, **given)


def test_a_past_of_another_model():
    past = t5_start(SOURCE, PARAMS, config=CONFIG)
    with pytest.raises(ValueError, match=r"len\(past\) must be 2, one for each block of the decoder, got 3"):
        t5_step(TARGET, PARAMS, (*past, past[0]), config=CONFIG)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_head": 0}, "d_head must be an integer of at least 1, got 0"),
        ({"n_bucket": 5}, "n_bucket must be even and at least 4, got 5"),
        ({"max_distance": 2}, "max_distance must be greater than 2, got 2"),
        ({"gated": None}, "gated must be True or False, got None"),
        ({"activation": "gated-gelu"}, "activation must be one of .*got 'gated-gelu'"),
        ({"start_id": 7}, "start_id must be below vocab_size = 7, got 7"),
    ],
)
def test_a_bad_configuration(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)
