"""RoBERTa, DistilBERT and ALBERT: BERT in other settings."""

from dataclasses import replace

import numpy as np
import pytest

from refimpl.attention.mask import padding_mask
from refimpl.checkpoints.families.bert.settings import RELATIVES
from refimpl.models.bert.config import BertConfig
from refimpl.models.bert.model import bert
from refimpl.positions.token_positions import positions_after_padding

SMALL = {"vocab_size": 11, "n_position": 9, "d_model": 6, "n_head": 2, "d_ff": 5, "pad_id": 1}
ROBERTA = BertConfig(**SMALL, n_segment=1, n_layer=2, **RELATIVES["roberta"].fixed)
DISTILBERT = BertConfig(**SMALL, n_layer=2, **RELATIVES["distilbert"].fixed)
ALBERT = BertConfig(**SMALL, n_segment=2, n_layer=5, d_embed=4, n_block=2)
TOKENS = np.array([[5, 3, 8, 2]])


def params(model_type, config):
    generator = np.random.default_rng(0)
    rows = [row for row in RELATIVES[model_type].names.rows(config) if row.group == "encoder"]
    return {row.ours: generator.standard_normal(row.our_shape) for row in rows}


def test_positions_are_counted_past_padding():
    is_token = np.array([[True, True, False], [False, True, True], [False, True, False]])
    got = positions_after_padding(is_token, pad_id=1)
    np.testing.assert_array_equal(got, [[2, 3, 1], [1, 2, 3], [1, 2, 1]])
    with pytest.raises(TypeError, match="is_token must be a boolean array"):
        positions_after_padding(got, pad_id=1)


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (2, 0), (0, 2), (1, 1)])
def test_roberta_reads_alike_wherever_padding_stands(before, behind):
    backbone = params("roberta", ROBERTA)
    padded = np.pad(TOKENS, ((0, 0), (before, behind)), constant_values=1)
    mask = padding_mask(padded != 1)
    alone, _ = bert(TOKENS, 0 * TOKENS, backbone, config=ROBERTA)
    states, _ = bert(padded, 0 * padded, backbone, config=ROBERTA, mask=mask)
    got = states[-1][:, before : before + 4]
    assert np.max(np.abs(got - alone[-1])) <= 2**8 * np.finfo(float).eps * np.max(np.abs(alone[-1]))


def test_roberta_never_trains_the_position_of_padding_and_leaves_those_before_it_alone():
    backbone = params("roberta", ROBERTA)
    padded = np.pad(TOKENS, ((0, 0), (1, 1)), constant_values=1)
    states, pullback = bert(padded, 0 * padded, backbone, config=ROBERTA)
    (dparams,) = pullback(tuple(np.random.default_rng(0).standard_normal(state.shape) for state in states))
    moved = np.any(dparams["embeddings.position.weight"] != 0.0, axis=1)
    assert moved.tolist() == [False, False, True, True, True, True, False, False, False]


def test_roberta_is_longer_than_its_positions_by_padding_and_one():
    longest = np.full((1, 7), 5)
    bert(longest, 0 * longest, params("roberta", ROBERTA), config=ROBERTA)
    with pytest.raises(ValueError, match=r"ids must lie in \[0, 9\), got values from 2 to 9"):
        too_long = np.full((1, 8), 5)
        bert(too_long, 0 * too_long, params("roberta", ROBERTA), config=ROBERTA)


def test_distilbert_takes_no_segments():
    backbone = params("distilbert", DISTILBERT)
    states, pullback = bert(TOKENS, None, backbone, config=DISTILBERT)
    (dparams,) = pullback(states)
    assert dparams.keys() == backbone.keys()
    with pytest.raises(ValueError, match="segment_ids must be None: this model knows no segments"):
        bert(TOKENS, 0 * TOKENS, backbone, config=DISTILBERT)
    with pytest.raises(ValueError, match=r"params must have the keys .*got .*segment\.weight"):
        bert(TOKENS, None, backbone | {"embeddings.segment.weight": np.ones((2, 6))}, config=DISTILBERT)


def test_shared_blocks_get_the_sum_of_what_their_layers_get():
    shared = params("albert", ALBERT)
    own_config = replace(ALBERT, n_block=0)
    own = {key: x for key, x in shared.items() if ".layers." not in key}
    for i in range(5):
        block = f"encoder.layers.{ALBERT.block_of(i)}."
        own |= {key.replace(block, f"encoder.layers.{i}."): x for key, x in shared.items() if key.startswith(block)}
    states, pullback = bert(TOKENS, 0 * TOKENS, shared, config=ALBERT)
    own_states, own_pullback = bert(TOKENS, 0 * TOKENS, own, config=own_config)
    for state, own_state in zip(states, own_states, strict=True):
        np.testing.assert_array_equal(state, own_state)
    (got,), (want,) = pullback(states), own_pullback(own_states)
    for key, gradient in got.items():
        if ".layers." not in key:
            np.testing.assert_array_equal(gradient, want[key], err_msg=key)
            continue
        _, _, block, rest = key.split(".", 3)
        layers = [i for i in range(5) if ALBERT.block_of(i) == int(block)]
        total = sum(want[f"encoder.layers.{i}.{rest}"] for i in layers)
        size = sum(np.abs(want[f"encoder.layers.{i}.{rest}"]) for i in layers)
        assert np.all(np.abs(gradient - total) <= 8 * np.finfo(float).eps * size), key


def test_albert_has_a_projection_and_bert_has_none():
    backbone = params("albert", ALBERT)
    assert backbone["embeddings.token.weight"].shape == (11, 4)
    states, _ = bert(TOKENS, 0 * TOKENS, backbone, config=ALBERT)
    assert states[0].shape == (1, 4, 6)
    without = {key: x for key, x in backbone.items() if "projection" not in key}
    with pytest.raises(ValueError, match=r"params must have the keys .*projection\.weight"):
        bert(TOKENS, 0 * TOKENS, without, config=ALBERT)
    with pytest.raises(ValueError, match=r"params must have keys below layers\.0\., layers\.1\. only"):
        bert(TOKENS, 0 * TOKENS, backbone | {"encoder.layers.2.norm1.bias": np.ones(6)}, config=ALBERT)
