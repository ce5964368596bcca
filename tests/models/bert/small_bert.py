"""A BERT of a few dozen numbers."""

import numpy as np

from compare import strategies
from refimpl.models.bert.config import BertConfig

CONFIG = BertConfig(
    vocab_size=7, n_position=5, n_segment=2, d_model=6, n_head=2, n_layer=2, d_ff=8, n_label=3, pad_id=1
)
TOKEN_IDS = np.array([[2, 3, 2], [4, 6, 1]])
SEGMENT_IDS = np.array([[0, 0, 1], [0, 1, 1]])


def params(*groups, prefixed=True):
    """Random parameters of these groups of `strategies.bert_shapes`."""
    shapes = strategies.bert_shapes(CONFIG)
    generator = np.random.default_rng(3)
    return {
        (group if prefixed else "") + key: generator.standard_normal(shape)
        for group in groups
        for key, shape in shapes[group].items()
    }


BACKBONE = params("embeddings.", "encoder.")
EMBEDDINGS = params("embeddings.", prefixed=False)
FOR_PRETRAINING = params("embeddings.", "encoder.", "pooler.", "mlm.", "nsp.")
FOR_CLASSIFICATION = params("embeddings.", "encoder.", "pooler.", "classifier.")
