from dataclasses import replace

import numpy as np
import pytest

from refimpl.checkpoints.families.longformer.names import longformer_rows
from refimpl.models.longformer.config import LongformerConfig
from refimpl.models.longformer.embeddings import longformer_embeddings
from refimpl.models.longformer.model import longformer

CONFIG = LongformerConfig(
    vocab_size=9, n_position=12, n_segment=2, d_model=6, n_head=2, reaches=(1, 2), d_ff=5, pad_id=1
)
RNG = np.random.default_rng(0)
PARAMS = {row.ours: RNG.standard_normal(row.our_shape) for row in longformer_rows(CONFIG) if row.group == "encoder"}
EMBEDDINGS = {key.removeprefix("embeddings."): x for key, x in PARAMS.items() if key.startswith("embeddings.")}
IDS = np.array([[3, 4, 5, 6, 7, 8, 2]])
NONE = np.zeros((1, 0), np.int64)


def test_a_token_is_seen_as_far_as_the_reaches_add_up():
    changed = np.where(np.arange(7) == 0, 4, IDS)
    states, _ = longformer(IDS, 0 * IDS, NONE, PARAMS, config=CONFIG)
    others, _ = longformer(changed, 0 * IDS, NONE, PARAMS, config=CONFIG)
    moved = [np.any(a != b, axis=(0, 2)) for a, b in zip(states, others, strict=True)]
    assert [int(each.sum()) for each in moved] == [1, 2, 4]
    others, _ = longformer(changed, 0 * IDS, np.array([[0]]), PARAMS, config=CONFIG)
    states, _ = longformer(IDS, 0 * IDS, np.array([[0]]), PARAMS, config=CONFIG)
    assert np.all(np.any(states[-1] != others[-1], axis=(0, 2)))


def test_a_text_reads_alike_alone_and_padded_on_either_side():
    want, _ = longformer(IDS, 0 * IDS, np.array([[2]]), PARAMS, config=CONFIG)
    for before, after in ((0, 3), (3, 0), (2, 1)):
        padded = np.pad(IDS, ((0, 0), (before, after)), constant_values=CONFIG.pad_id)
        got, _ = longformer(padded, 0 * padded, np.array([[before + 2]]), PARAMS, config=CONFIG, mask=padded != 1)
        for one, other in zip(got, want, strict=True):
            assert np.abs(one[:, before : before + 7] - other).max() < 2.0**-40


def test_neither_token_nor_position_of_padding_is_trained(generator):
    ids = np.array([[3, 1, 1], [3, 4, 1]])
    y, pullback = longformer_embeddings(ids, 0 * ids, EMBEDDINGS, config=CONFIG)
    (dparams,) = pullback(generator.standard_normal(y.shape))
    used = [np.flatnonzero(np.any(dparams[f"{key}.weight"] != 0.0, axis=1)).tolist() for key in ("token", "position")]
    assert used == [[3, 4], [2, 3]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"global_ids": np.array([[8]])}, r"global_ids must lie in \[0, 8\)"),
        ({"global_ids": np.array([[2, 2]])}, "global_ids must be different positions"),
        ({"segment_ids": IDS}, r"segment_ids must lie in \[0, 2\)"),
        ({"token_ids": np.tile(IDS, 2), "segment_ids": 0 * np.tile(IDS, 2)}, r"position_ids must lie in \[0, 12\)"),
        ({"mask": IDS[:, :3] > 0}, r"mask must have shape \(1, 7\), got \(1, 3\)"),
        ({"config": 3}, "config must be a LongformerConfig, got 3"),
    ],
)
def test_bad_input(changes, message):
    given = {"token_ids": IDS, "segment_ids": 0 * IDS, "global_ids": NONE, "config": CONFIG} | changes
    arrays = [given.pop(name) for name in ("token_ids", "segment_ids", "global_ids")]
    with pytest.raises(ValueError, match=message):
        longformer(*arrays, PARAMS, **given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reaches": ()}, "reaches must hold one reach for each block, got none"),
        ({"reaches": (1, 0)}, r"reaches\[1\] must be an integer of at least 1, got 0"),
        ({"n_head": 4}, "d_model must be a multiple of n_head = 4, got 6"),
        ({"pad_id": 9}, "pad_id must be below vocab_size = 9, got 9"),
        ({"n_position": 1}, "pad_id must be below n_position = 1, got 1"),
        ({"activation": "silu"}, "activation must be one of .*got 'silu'"),
        ({"norm_eps": float("nan")}, "norm_eps must be a positive finite number, got nan"),
    ],
)
def test_a_bad_configuration(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)
