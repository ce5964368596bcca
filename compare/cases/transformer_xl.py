"""Transformer-XL against `transformers` 4.36.2 in its own environment, and against a definition in PyTorch."""

import numpy as np
import torch

from compare.cases.adaptive_softmax import CLUSTERS_BACKWARDS
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.peers import transformer_xl_peer, transformer_xl_torch
from compare.peers.other_environment import what_is_missing
from refimpl.blocks.relative.block import relative_pre_norm_block
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.blocks.relative.stack import relative_stack
from refimpl.checkpoints.families.transformer_xl.names import transformer_xl_rows
from refimpl.models.transformer_xl.config import TransformerXLConfig
from refimpl.models.transformer_xl.heads import _shared, _unshared, transformer_xl_lm, transformer_xl_loss
from refimpl.models.transformer_xl.model import _distances, _seen, transformer_xl

HF = "transformers 4.36.2"
SMALL = {"vocab_size": 17, "cutoffs": (5, 11), "d_model": 6, "n_head": 3, "n_layer": 2, "d_ff": 7}
# A memory shorter than the segment, tables of three widths, one bias for all blocks.
DIVIDED = TransformerXLConfig(
    **SMALL, d_embed=8, d_head=5, n_memory=3, div_val=2, own_biases=False, clamp_len=4, norm_eps=1e-3
)
# A memory longer than the segment, one table and one projection, a window, norms first.
SHARED = TransformerXLConfig(
    **SMALL, d_embed=4, d_head=2, n_memory=7, pre_norm=True, same_length=True, tie_projections=False
)
PLAIN = TransformerXLConfig(**SMALL, d_embed=6, d_head=3, n_memory=5)


def model_params(generator, config, *groups):
    return normal_params(
        generator, {row.ours: row.our_shape for row in transformer_xl_rows(config) if row.group in groups}
    )


def draw_segment(generator, config, n_batch, n_seq, n_before):
    token_ids = generator.integers(0, config.vocab_size, (n_batch, n_seq))
    return token_ids, normal(generator, config.n_layer, n_batch, n_before, config.d_model)


def inputs(generator, *, config, n_batch, n_seq, n_before):
    token_ids, memory = draw_segment(generator, config, n_batch, n_seq, n_before)
    return Inputs((token_ids, memory, model_params(generator, config, "backbone")))


def lm_inputs(generator, *, config, n_batch, n_seq, n_before):
    token_ids, memory = draw_segment(generator, config, n_batch, n_seq, n_before)
    return Inputs((token_ids, memory, model_params(generator, config, "backbone", "softmax")))


def loss_inputs(generator, *, config, n_batch, n_seq, n_before):
    token_ids, memory = draw_segment(generator, config, n_batch, n_seq, n_before)
    targets = np.where(generator.random((n_batch, n_seq)) < 0.8, generator.permuted(token_ids, axis=1), -100)
    # transformers shifts the labels of a segment, and so has none for its last token.
    targets = np.where(np.arange(n_seq) == n_seq - 1, -100, targets)
    return Inputs((token_ids, targets, memory, model_params(generator, config, "backbone", "softmax")))


def torch_loss(token_ids, targets, memory, params, *, config):
    log_probs, remembered = transformer_xl_torch.lm(token_ids, memory, params, config=config)
    return torch.nn.functional.nll_loss(log_probs.flatten(0, 1), targets.flatten(), ignore_index=-100), remembered


def no_gradient_into_the_memory(generator, outputs):
    """Leave out what `transformers` detaches."""
    *dothers, dremembered = [generator.standard_normal(y.shape) for y in outputs]
    return [*dothers, np.zeros_like(dremembered)]


def configs():
    return (
        Config("divided", {"config": DIVIDED, "n_batch": 2, "n_seq": 5, "n_before": 3}, {"config": DIVIDED}),
        Config("shared", {"config": SHARED, "n_batch": 2, "n_seq": 4, "n_before": 7}, {"config": SHARED}),
        Config("first_segment", {"config": PLAIN, "n_batch": 3, "n_seq": 6, "n_before": 0}, {"config": PLAIN},
               profile="full"),
    )  # fmt: skip


# In full, "first_segment" has no memory and all of one width: what is simplest.
COMMON = {
    "section": "models",
    "dtypes": ("float64", "float32"),
    "elsewhere": {HF: what_is_missing},
    "cotangents": no_gradient_into_the_memory,
}
BIAS_ONCE = rewritten(relative_stack, "add_gradients(dshared.get(key), dblock[key])", "dblock[key]")

CASES = [
    Case(
        name="transformer_xl",
        title="Transformer-XL",
        reference=transformer_xl,
        inputs=inputs,
        outputs=(*(f"state{i}" for i in range(SMALL["n_layer"] + 1)), "memory"),
        configs=configs(),
        peers={"torch": transformer_xl_torch.layers, HF: transformer_xl_peer.backbone},
        bugs={
            "embedding not scaled": rewritten(transformer_xl, "math.sqrt(config.d_model)", "1.0"),
            "gradient of the embedding not scaled": rewritten(transformer_xl, "dembedded) * scale", "dembedded)"),
            "memory of the outputs of the blocks": rewritten(
                transformer_xl, "xp.stack([embedded, *states[:-1]]", "xp.stack([*states]"
            ),
            "the oldest states remembered": rewritten(
                transformer_xl, segment_memory=rewritten(segment_memory, "both[:, :, n_forgotten:]",
                                                         "both[:, :, : both.shape[2] - n_forgotten]")
            ),
            "distances nearest first": rewritten(
                transformer_xl, _distances=rewritten(_distances, "xp.arange(n_key)[::-1]", "xp.arange(n_key)")
            ),
            "far distances not clamped": rewritten(
                transformer_xl, _distances=rewritten(_distances, "if config.clamp_len", "if False")
            ),
            "window one too long": rewritten(
                transformer_xl, _seen=rewritten(_seen, "config.n_memory - 1", "config.n_memory")
            ),
            "gradient of the shared biases of one block only": rewritten(transformer_xl, relative_stack=BIAS_ONCE),
            "memory not normalised": rewritten(
                transformer_xl, relative_pre_norm_block=rewritten(
                    relative_pre_norm_block, "normed1[:, :n_memory], relative", "memory, relative")
            ),
            "gradients of inner states lost": rewritten(transformer_xl, "((*dinner,", "((*[None for _ in dinner],"),
        },
        **COMMON,
    ),
    Case(
        name="transformer_xl_lm",
        title="Transformer-XL as a language model",
        reference=transformer_xl_lm,
        inputs=lm_inputs,
        outputs=("log_probs", "memory"),
        configs=configs(),
        peers={"torch": transformer_xl_torch.lm, HF: transformer_xl_peer.lm},
        bugs={
            "gradient of the softmax not added to the tables": rewritten(
                transformer_xl_lm, _unshared=rewritten(_unshared, "add_gradients(dparams.get(source), dhere)",
                                                       "dparams.get(source, dhere)")
            ),
            "first projection tied": rewritten(
                transformer_xl_lm, _shared=rewritten(_shared, "params[source] if", "params[source.replace("
                '"softmax.projections.0", "embedding.projections.0")] if')
            ),
            "every cluster from the first row": rewritten(
                transformer_xl_lm, _shared=rewritten(_shared, "[rows[0] : rows[1]]", "[: rows[1] - rows[0]]")
            ),
            "clusters counted from the end": rewritten(
                transformer_xl_lm, adaptive_log_softmax=CLUSTERS_BACKWARDS
            ),
            "the state before the last": rewritten(
                transformer_xl_lm, "(*_, last, remembered)", "(*_, last, _, remembered)"
            ),
        },
        **COMMON,
    ),
    Case(
        name="transformer_xl_loss",
        title="Loss of a Transformer-XL over a segment",
        reference=transformer_xl_loss,
        inputs=loss_inputs,
        outputs=("loss", "memory"),
        configs=configs(),
        peers={"torch": torch_loss, HF: transformer_xl_peer.loss},
        bugs={
            "ignored targets count": rewritten(
                transformer_xl_loss, "(targets != ignore_index).astype", "(targets != -1).astype"
            ),
            "gradient of the sum": rewritten(transformer_xl_loss, "(dloss / n_target +", "(dloss +"),
            "targets shifted once more": rewritten(
                transformer_xl_loss, "last, targets, _shared",
                "last[:, [*range(1, last.shape[1]), 0]], targets, _shared",
            ),
        },
        **COMMON,
    ),
]
