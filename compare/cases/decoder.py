"""What the cases of all decoder-only models have in common."""

import numpy as np

from compare.cases.case import Inputs
from compare.cases.draw import normal_params
from refimpl.models.decoder.config import decoder_shapes

HEAD = "head.weight"


def draw_decoder(generator, *, config, n_batch, n_seq, padded=False, headed=False):
    """Draw tokens and parameters, and where sequences are padded, on the left, on the right and on both sides, a mask."""
    token_ids = generator.integers(0, config.vocab_size, (n_batch, n_seq))
    shapes = {key: shape for key, shape in decoder_shapes(config).items() if headed or key != HEAD}
    params = normal_params(generator, shapes)
    if not padded:
        return Inputs((token_ids, params))
    rows, places = np.arange(n_batch)[:, None], np.arange(n_seq)
    n_left, n_right = (rows + 2) % 3, rows % 3  # 2 and 0, 0 and 1, 1 and 2
    return Inputs((token_ids, params), {"mask": (places >= n_left) & (places < n_seq - n_right)})
