"""Each block of MiniLM alone, on its true input: what the blocks below it make of real sentences in float64.

The tolerance of a deep stack grows faster than its error; one block at a time is judged more sharply.
"""

from functools import cache

import numpy as np
import torch

from compare.cases import minilm_data
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.encoder_block import BLOCK_BUGS
from compare.cases.minilm import N_LAYER
from compare.peers.transformers_peer import bert_model, their_names
from refimpl.arrays import scope
from refimpl.attention.mask import padding_mask
from refimpl.blocks.encoder_block import post_norm_block
from refimpl.models.bert.model import bert

SENTENCES = slice(34, 39)


@cache
def true_states():
    """Run MiniLM in float64 on a few sentences: what goes into each of its blocks, and which of it is padding."""
    params, config = minilm_data.load_model()
    token_ids, is_token = minilm_data.pad(minilm_data.sorted_tokens()[SENTENCES], config.pad_id)
    wide = {key: x.astype(np.float64) for key, x in params.items() if not key.startswith("pooler.")}
    states, _ = bert(token_ids, 0 * token_ids, wide, config=config, mask=padding_mask(is_token))
    return states, is_token


def inputs(generator, *, layer):
    params, _ = minilm_data.load_model()
    states, is_token = true_states()
    return Inputs((states[layer], scope(params, f"encoder.layers.{layer}.")), {"mask": padding_mask(is_token)})


def transformers_block(x, params, *, mask, **settings):
    _, config = minilm_data.load_model()
    prefix = "encoder.layer.0."
    theirs = their_names({f"encoder.layers.0.{key}": value for key, value in params.items()}, config, prefix="")
    layer = bert_model("BertModel", config).encoder.layer[0]
    # The additive mask that `transformers` makes of a padding mask.
    additive = torch.zeros(mask.shape, dtype=x.dtype).masked_fill(~mask, torch.finfo(x.dtype).min)
    found = torch.func.functional_call(
        layer, {key.removeprefix(prefix): value for key, value in theirs.items()}, (x, additive)
    )
    return found[0] if isinstance(found, tuple) else found


CASES = [
    Case(
        name="minilm_blocks",
        section="models",
        title="MiniLM, block by block",
        reference=post_norm_block,
        inputs=inputs,
        configs=tuple(
            Config(f"block{layer}", {"layer": layer}, {"n_head": 12, "activation": "gelu", "eps": 1e-12})
            for layer in range(N_LAYER)
        ),
        peers={"transformers": transformers_block},
        dtypes=("float64", "float32"),
        extended_truth=False,
        oracles=("autograd",),
        coarse_erf=("transformers",),
        bugs={
            name: rewritten(post_norm_block, **BLOCK_BUGS[name])
            for name in ("tanh GELU for erf GELU", "unbiased variance", "scale by sqrt(d_model)", "mask ignored")
        },
    )
]
