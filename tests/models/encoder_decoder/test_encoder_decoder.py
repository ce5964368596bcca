from dataclasses import replace

import numpy as np
import pytest

from refimpl.attention.cache.key_value import reorder
from refimpl.blocks.target_loss import target_loss
from refimpl.checkpoints.families.encoder_decoder.names import encoder_decoder_rows
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.encoder_decoder.embeddings import embedded_tokens
from refimpl.models.encoder_decoder.heads import encoder_decoder_lm
from refimpl.models.encoder_decoder.model import encoder_decoder
from refimpl.models.encoder_decoder.step import encoder_decoder_start, encoder_decoder_step

CONFIG = EncoderDecoderConfig(
    vocab_size=7, n_position=5, d_model=6, n_head=2, n_decoder_head=3, n_layer=1, n_decoder_layer=2, d_ff=5,
    d_decoder_ff=4, positions="learned", position_offset=2, embedding_norm=True, activation="gelu", pad_id=1,
    start_id=2,
)  # fmt: skip
RNG = np.random.default_rng(0)
SOURCE, TARGET = np.array([[3, 4, 5, 1], [6, 5, 4, 3]]), np.array([[2, 4, 6], [2, 3, 3]])
MASK = np.array([[True, True, True, False], [True] * 4])


def params_of(config, *groups):
    rows = [row for row in encoder_decoder_rows(config) if row.group in ("backbone", *groups)]
    return {row.ours: RNG.standard_normal(row.our_shape) for row in rows}


BACKBONE = params_of(CONFIG)
WITH_HEAD = BACKBONE | {"head.bias": RNG.standard_normal(7)}


def test_the_first_token_has_the_row_behind_the_offset():
    bare = replace(CONFIG, embedding_norm=False, scale_embedding=False)
    params = {"token.weight": np.zeros((7, 6)), "position.weight": np.arange(7.0)[:, None] + np.zeros((7, 6))}
    y, _ = embedded_tokens(SOURCE, params, config=bare)
    assert y[0, :, 0].tolist() == [2.0, 3.0, 4.0, 5.0]
    y, _ = embedded_tokens(SOURCE[:1, :1], params, config=bare, position_ids=np.array([[4]]))
    assert y[0, :, 0].tolist() == [6.0]


def test_the_row_of_the_padding_token_is_trained_by_the_head_alone():
    states, pullback = encoder_decoder(SOURCE, TARGET, BACKBONE, config=CONFIG)
    (dparams,) = pullback(states)
    assert not np.any(dparams["embedding.weight"][CONFIG.pad_id])
    logits, pullback = encoder_decoder_lm(SOURCE, TARGET, BACKBONE, config=CONFIG)
    (dparams,) = pullback(logits)
    assert np.all(np.any(dparams["embedding.weight"] != 0.0, axis=1))


def test_a_loss_of_no_labels_is_0():
    labels = np.full((2, 3), -100)
    (loss, logits), pullback = target_loss(SOURCE, labels, WITH_HEAD, lm=encoder_decoder_lm, config=CONFIG)
    assert loss == 0.0
    assert logits.shape == (2, 3, 7)
    (dparams,) = pullback((np.float64(1.0), None))
    assert not any(np.any(gradient) for gradient in dparams.values())


def test_no_sentences():
    states, pullback = encoder_decoder(SOURCE[:0], TARGET[:0], BACKBONE, config=CONFIG)
    assert [state.shape for state in states] == [(0, 4, 6)] * 2 + [(0, 3, 6)] * 3
    assert not any(np.any(gradient) for gradient in pullback(states)[0].values())


@pytest.mark.parametrize("norm_first", [False, True])
def test_rows_of_a_search_may_go_on_from_each_other(norm_first):
    """Reordering what is remembered is as reordering what was read and written."""
    config = replace(CONFIG, norm_first=norm_first)
    past = encoder_decoder_start(SOURCE, WITH_HEAD, config=config, mask=MASK)
    _, past = encoder_decoder_step(TARGET[:, :2], WITH_HEAD, past, config=config)
    rows = np.array([1, 1, 0])
    moved = tuple(tuple(reorder(each, rows) for each in layer) for layer in past)
    got, _ = encoder_decoder_step(TARGET[rows, 2:], WITH_HEAD, moved, config=config)
    want, _ = encoder_decoder_step(TARGET[:, 2:], WITH_HEAD, past, config=config)
    assert np.abs(got - want[rows]).max() < 2.0**-40


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_ids": SOURCE + 3}, r"source_ids must lie in \[0, 7\), got values from 4 to 9"),
        ({"target_ids": TARGET[:1]}, r"target_ids must have shape \(2, any\), got \(1, 3\)"),
        ({"source_ids": np.tile(SOURCE, 2)}, r"position_ids must lie in \[0, 5\)"),
        ({"mask": MASK[:, :3]}, r"mask must have shape \(2, 4\), got \(2, 3\)"),
        ({"target_mask": MASK}, r"target_mask must have shape \(2, 3\), got \(2, 4\)"),
        ({"config": replace(CONFIG, final_norm=True)}, r"params must have the keys encoder\.norm\.bias"),
        ({"config": "bart"}, "config must be an EncoderDecoderConfig, got 'bart'"),
    ],
)
def test_bad_input(changes, message):
    given = {"source_ids": SOURCE, "target_ids": TARGET, "config": CONFIG} | changes
    with pytest.raises(ValueError, match=message):
        encoder_decoder(given.pop("source_ids"), given.pop("target_ids"), BACKBONE, **given)


def test_a_past_of_another_model():
    past = encoder_decoder_start(SOURCE, WITH_HEAD, config=CONFIG)
    with pytest.raises(ValueError, match=r"len\(past\) must be 2, one for each block of the decoder, got 1"):
        encoder_decoder_step(TARGET, WITH_HEAD, past[:1], config=CONFIG)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 7}, "d_model must be a multiple of n_head = 2, got 7"),
        ({"n_decoder_head": 4}, "d_model must be a multiple of n_decoder_head = 4, got 6"),
        ({"n_layer": 0}, "n_layer must be an integer of at least 1, got 0"),
        ({"positions": "rotary"}, "positions must be one of interleaved, concatenated, learned, got 'rotary'"),
        ({"activation": "swish"}, "activation must be one of .*got 'swish'"),
        ({"scale_embedding": 1}, "scale_embedding must be True or False, got 1"),
        ({"norm_eps": 0}, "norm_eps must be a positive finite number, got 0"),
        ({"pad_id": 7}, "pad_id must be below vocab_size = 7, got 7"),
        ({"positions": "interleaved"}, "position_offset must be 0 where positions are not learned, got 2"),
    ],
)
def test_a_bad_configuration(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)
