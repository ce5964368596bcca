"""Encoder–decoder models on tokens: Bart, Marian and Pegasus, all their states, against `transformers`."""

import numpy as np
import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal_params
from compare.peers.family_peer import call_family
from refimpl.checkpoints.families.encoder_decoder.names import encoder_decoder_rows
from refimpl.checkpoints.families.encoder_decoder.settings import KINDS
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.encoder_decoder.embeddings import _learned, _sinusoidal, embedded_tokens
from refimpl.models.encoder_decoder.model import encoder_decoder

SMALL = {
    "vocab_size": 17, "n_position": 9, "d_model": 12, "n_head": 2, "n_decoder_head": 3, "n_layer": 1,
    "n_decoder_layer": 2, "d_ff": 10, "d_decoder_ff": 7,
}  # fmt: skip
BART = EncoderDecoderConfig(
    **SMALL, **KINDS["bart"], scale_embedding=False, activation="gelu", pad_id=2, start_id=5
)
MARIAN = EncoderDecoderConfig(**SMALL, **KINDS["marian"], activation="silu", pad_id=16, start_id=16)
PEGASUS = EncoderDecoderConfig(**SMALL, **KINDS["pegasus"], activation="relu", pad_id=0, start_id=0)


def draw_ids(generator, config, n_batch, n_seq):
    """Draw tokens, none of which is padding."""
    return (generator.integers(1, config.vocab_size, (n_batch, n_seq)) + config.pad_id) % config.vocab_size


def draw_sequences(generator, config, n_batch, n_source, n_target, padded, labelled=False):
    """Draw source and target (or labels), and where they are padded the masks; sources are padded on both sides."""
    source_ids, target_ids = (draw_ids(generator, config, n_batch, n) for n in (n_source, n_target))
    if not padded:
        return (source_ids, target_ids), {}
    mask = np.arange(n_source) < generator.integers(1, n_source, (n_batch, 1))
    mask[0] = mask[0, ::-1]
    target_mask = np.arange(n_target) < generator.integers(1, n_target, (n_batch, 1))
    masks = {"mask": mask} if labelled else {"mask": mask, "target_mask": target_mask}
    ended = -100 if labelled else config.pad_id
    return (np.where(mask, source_ids, config.pad_id), np.where(target_mask, target_ids, ended)), masks


def inputs(generator, *, config, n_batch, n_source, n_target, padded=False, head=False, labelled=False):
    rows = [row for row in encoder_decoder_rows(config) if head or row.group == "backbone"]
    ids, masks = draw_sequences(generator, config, n_batch, n_source, n_target, padded, labelled)
    return Inputs((*ids, normal_params(generator, {row.ours: row.our_shape for row in rows})), masks)


def long(mask):
    return None if mask is None else mask.long()


def computed_positions(config, params):
    """Positions that are computed, which `transformers` keeps as parameters, in the dtype of the others."""
    if config.positions == "learned":
        return {}
    n_position, d_model = config.n_position, config.d_model
    pair = torch.arange(d_model, dtype=torch.float64) // 2
    angles = torch.arange(n_position)[:, None] / 10000 ** (2 * pair / d_model)
    table = torch.cat([torch.sin(angles[:, 0::2]), torch.cos(angles[:, 1::2])], dim=1)
    table = table.to(params["embedding.weight"].dtype)
    prefix = "model." if "head.bias" in params else ""
    return {f"{prefix}{half}.embed_positions.weight": table for half in ("encoder", "decoder")}


def kind_of(config):
    return next(kind for kind, fixed in KINDS.items() if all(getattr(config, key) == fixed[key] for key in fixed))


def transformers_states(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    found = call_family(
        kind_of(config), params, config, further=computed_positions(config, params), input_ids=source_ids,
        attention_mask=long(mask), decoder_input_ids=target_ids, decoder_attention_mask=long(target_mask),
        output_hidden_states=True, use_cache=False,
    )  # fmt: skip
    return (*found.encoder_hidden_states, *found.decoder_hidden_states)


def wrong_embeddings(old="", new="", **names):
    return rewritten(encoder_decoder, embedded_tokens=rewritten(embedded_tokens, old, new, **names))


def sizes(config, n_source, n_target, **further):
    return {"config": config, "n_batch": 3, "n_source": n_source, "n_target": n_target, **further}


# The padding token's gradient is 0 by convention, not by calculus.
PADDED = {"padded": True}
STATES = ("source0", "source1", "target0", "target1", "target2")

CASES = [
    Case(
        name="encoder_decoder",
        section="models",
        title="Encoder–decoder: Bart, Marian, Pegasus",
        reference=encoder_decoder,
        inputs=inputs,
        outputs=STATES,
        configs=(
            Config("bart_padded", sizes(BART, 5, 4, **PADDED), {"config": BART}, oracles=False),
            Config("marian", sizes(MARIAN, 4, 6), {"config": MARIAN}),
            Config("pegasus_padded", sizes(PEGASUS, 6, 5, **PADDED), {"config": PEGASUS}, oracles=False),
            Config("bart", sizes(BART, 9, 1), {"config": BART}, profile="full"),
            Config("marian_padded", sizes(MARIAN, 5, 4, **PADDED), {"config": MARIAN}, "full", oracles=False),
            Config("pegasus", sizes(PEGASUS, 1, 9), {"config": PEGASUS}, profile="full"),
        ),
        peers={"transformers": transformers_states},
        coarse_erf=("transformers",),
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "embeddings not scaled": wrong_embeddings("math.sqrt(config.d_model)", "1.0"),
            "gradient of the table not scaled": wrong_embeddings("pullback(dtokens * scale)", "pullback(dtokens)"),
            "position offset of Bart forgotten": wrong_embeddings(
                _learned=rewritten(_learned, "position_ids + config.position_offset", "position_ids")
            ),
            "all tokens at the first position": wrong_embeddings(
                _learned=rewritten(_learned, "position_ids + config.p", "position_ids * 0 + config.p")
            ),
            "sines and cosines interleaved": wrong_embeddings(
                _sinusoidal=rewritten(_sinusoidal, "layout=config.positions", 'layout="interleaved"')
            ),
            "padding row trained": wrong_embeddings("padding_id=config.pad_id", "padding_id=None"),
            "padding of the source asked": rewritten(encoder_decoder, "memory_mask=readable", "memory_mask=None"),
            "padding of the source read": rewritten(encoder_decoder, "        mask=readable", "        mask=None"),
            "target sees what comes": rewritten(encoder_decoder, "earlier & padding_mask", "padding_mask"),
            "gradient of the table from the source only": rewritten(
                encoder_decoder, ' + dof_target["token.weight"]', ""
            ),
            "gradient of the table from the target only": rewritten(
                encoder_decoder, 'dof_source["token.weight"] + ', ""
            ),
            "gradient of the embedded target lost": rewritten(
                encoder_decoder, "add_gradients(dwritten[0], dtarget)", "dtarget"
            ),
        },
    ),
]  # fmt: skip
