"""Transformer-XLs of a few dozen numbers."""

from dataclasses import replace

import numpy as np

from refimpl.checkpoints.families.transformer_xl.names import transformer_xl_rows
from refimpl.models.transformer_xl.config import TransformerXLConfig

CONFIG = TransformerXLConfig(
    vocab_size=11, cutoffs=(4, 7), d_model=6, d_embed=8, n_head=2, d_head=3, n_layer=2, d_ff=5, n_memory=4, div_val=2
)
VARIANTS = {
    "divided": CONFIG,
    "shared": replace(CONFIG, div_val=1, d_embed=4, own_biases=False),
    "plain": replace(CONFIG, div_val=1, d_embed=6, cutoffs=()),
    "pre_norm": replace(CONFIG, pre_norm=True, tie_projections=False),
    "window": replace(CONFIG, same_length=True, clamp_len=2),
}


def params(config=CONFIG, groups=("backbone", "softmax")):
    generator = np.random.default_rng(3)
    rows = [row for row in transformer_xl_rows(config) if row.group in groups]
    return {row.ours: 0.5 * generator.standard_normal(row.our_shape) for row in rows}


def no_memory(config, n_batch):
    return np.zeros((config.n_layer, n_batch, 0, config.d_model))


TOKEN_IDS = np.array([[3, 10, 0, 5, 6, 1, 9, 2, 8, 4], [7, 7, 2, 1, 0, 10, 3, 3, 6, 5]])
