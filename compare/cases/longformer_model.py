"""Longformer, all its hidden states, against `transformers`."""


import numpy as np
import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal_params
from compare.cases.encoder import wrong_stack
from compare.peers.family_peer import call_family
from compare.peers.float64_throughout import throughout
from refimpl.blocks.longformer_block import longformer_block
from refimpl.checkpoints.families.longformer.names import longformer_rows
from refimpl.models.longformer import model
from refimpl.models.longformer.config import LongformerConfig
from refimpl.models.longformer.embeddings import longformer_embeddings
from refimpl.models.longformer.model import longformer

SMALL = {"vocab_size": 17, "n_position": 19, "n_segment": 2, "d_model": 6, "d_ff": 7}
MIXED = LongformerConfig(**SMALL, n_head=3, reaches=(4, 2), pad_id=3, norm_eps=1e-3)
EVEN = LongformerConfig(**SMALL, n_head=2, reaches=(2, 2), activation="relu")


def inputs(generator, *, config, n_batch, n_seq, n_global, padded=False):
    rows = [row for row in longformer_rows(config) if row.group == "encoder"]
    token_ids = (generator.integers(1, config.vocab_size, (n_batch, n_seq)) + config.pad_id) % config.vocab_size
    segment_ids = generator.integers(0, config.n_segment, (n_batch, n_seq))
    global_ids = generator.random((n_batch, n_seq)).argsort(1)[:, :n_global]
    masks = {}
    if padded:  # the first text on the left, the others on the right
        mask = np.arange(n_seq) < generator.integers(n_seq // 2, n_seq, (n_batch, 1))
        mask[0] = mask[0, ::-1]
        masks, token_ids = {"mask": mask}, np.where(mask, token_ids, config.pad_id)
        global_ids = np.where(np.take_along_axis(mask, global_ids, 1), global_ids, n_seq)
    params = normal_params(generator, {row.ours: row.our_shape for row in rows})
    return Inputs((token_ids, segment_ids, global_ids, params), masks)


def transformers_longformer(token_ids, segment_ids, global_ids, params, *, config, mask=None):
    n_batch, n_seq = token_ids.shape
    is_global = torch.zeros(n_batch, n_seq + 1, dtype=torch.long).scatter(1, global_ids, 1)[:, :n_seq]
    # The class has a pooler, which is not asked for.
    table, d_model = params["embeddings.token.weight"], config.d_model
    pooler = {"pooler.dense.weight": table.new_zeros(d_model, d_model), "pooler.dense.bias": table.new_zeros(d_model)}
    with throughout(table.dtype):
        found = call_family(
            "longformer", params, config, further=pooler, input_ids=token_ids, token_type_ids=segment_ids,
            attention_mask=torch.ones_like(token_ids) if mask is None else mask.long(),
            global_attention_mask=is_global, output_hidden_states=True,
        )  # fmt: skip
    return found.hidden_states


def wrong_embeddings(old, new):
    return rewritten(longformer, longformer_embeddings=rewritten(longformer_embeddings, old, new))


def wrong_block(old, new):
    wrong = rewritten(longformer_block, old, new)
    return rewritten(
        longformer, _among=rewritten(model._among, _block=rewritten(model._block, longformer_block=wrong))
    )


CASES = [
    Case(
        name="longformer",
        section="models",
        title="Longformer",
        reference=longformer,
        inputs=inputs,
        outputs=("state0", "state1", "state2"),
        configs=(
            Config("windows", {"config": MIXED, "n_batch": 2, "n_seq": 11, "n_global": 2}, {"config": MIXED}),
            Config(
                "padded", {"config": EVEN, "n_batch": 3, "n_seq": 9, "n_global": 2, "padded": True}, {"config": EVEN},
                oracles=False,
            ),
            Config(
                "local", {"config": EVEN, "n_batch": 2, "n_seq": 12, "n_global": 0}, {"config": EVEN}, profile="full"
            ),
        ),
        peers={"transformers": transformers_longformer},
        coarse_erf=("transformers",),
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "one window for all blocks": rewritten(
                longformer, "for reach in config.reaches]", "for reach in config.reaches[:1] * config.n_layer]"
            ),
            "global tokens forgotten": rewritten(
                longformer, "_among(global_ids, reach)", "_among(global_ids[:, :0], reach)"
            ),
            "padding seen": rewritten(longformer, "None if mask is None else padding_mask(mask)", "None"),
            "positions counted from 0": wrong_embeddings(" * is_token + config.pad_id", " * is_token"),
            "padding counted as a position": wrong_embeddings(
                "xp.cumsum(is_token, axis=1) * is_token", "xp.cumsum(is_token * 0 + 1, axis=1)"
            ),
            "padding position trained": wrong_embeddings(
                'scope(params, "position."), padding_id=config.pad_id', 'scope(params, "position.")'
            ),
            "segments ignored": wrong_embeddings("embedding(segment_ids,", "embedding(0 * segment_ids,"),
            "eps of the checkpoint ignored": wrong_block("norm1.\"), eps=eps", "norm1.\"), eps=1e-12"),
            "first residual missing in the backward": wrong_block("return dsum1 + dx_attended", "return dx_attended"),
            "second residual missing in the backward": wrong_block("dsum2 + dmid_fed", "dmid_fed"),
            "gradient of the embedded texts lost": rewritten(
                longformer, "add_gradients(dy[0], dembedded)", "dembedded"
            ),
            "gradients of inner states lost": wrong_stack(longformer, "gradients of inner states lost"),
        },
    )
]
