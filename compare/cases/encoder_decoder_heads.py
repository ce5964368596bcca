"""Encoder–decoder models and what they are trained for: `transformers` and, for the original one, PyTorch."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config
from compare.cases.encoder_decoder import (
    BART,
    MARIAN,
    PADDED,
    SMALL,
    computed_positions,
    inputs,
    kind_of,
    long,
    sizes,
    wrong_embeddings,
)
from compare.cases.transformer import torch_transformer
from compare.peers.family_peer import call_family
from refimpl.blocks.target_loss import target_loss
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.encoder_decoder.embeddings import _sinusoidal
from refimpl.models.encoder_decoder.heads import HEAD_BIAS, encoder_decoder_lm, head_params

VASWANI = EncoderDecoderConfig(**{**SMALL, "n_decoder_head": 2}, final_norm=True, pad_id=3, start_id=1)
OF_BART, OF_MARIAN = ({"lm": encoder_decoder_lm, "config": config} for config in (BART, MARIAN))
LABELLED = {"head": True, "labelled": True}


def transformers_loss(source_ids, labels, params, *, lm, config, mask=None, label_smoothing=0.0):
    found = call_family(
        kind_of(config), params, config, further=computed_positions(config, params), input_ids=source_ids,
        attention_mask=long(mask), labels=labels, use_cache=False,
    )  # fmt: skip
    return found.loss, found.logits


def torch_lm(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    """Build the model of the paper from `torch.nn.Transformer` and what that leaves to its user."""
    table, d_model = params["embedding.weight"], config.d_model
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    embedded = []
    for ids in (source_ids, target_ids):
        angles = torch.arange(ids.shape[1])[:, None] * frequencies
        table_of_positions = torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(1).to(table.dtype)
        tokens = torch.nn.functional.embedding(ids, table, padding_idx=config.pad_id)
        embedded.append(tokens * d_model**0.5 + table_of_positions)
    n_target = target_ids.shape[1]
    causal = torch.ones(n_target, n_target, dtype=torch.bool).tril()
    readable = None if mask is None else mask[:, None, None]
    core = {key: value for key, value in params.items() if key not in ("embedding.weight", "head.bias")}
    *_, last = torch_transformer(
        *embedded, core, n_layer=config.n_layer, n_decoder_layer=config.n_decoder_layer, n_head=config.n_head,
        norm_first=config.norm_first, activation=config.activation, eps=config.norm_eps, mask=readable,
        memory_mask=readable, target_mask=causal if target_mask is None else causal & target_mask[:, None, None],
    )  # fmt: skip
    return torch.nn.functional.linear(last, table, params.get("head.bias"))


def on_wrong_lm(old="", new="", **names):
    wrong = rewritten(encoder_decoder_lm, old, new, **names)
    return lambda source_ids, labels, params, *, lm, **settings: target_loss(
        source_ids, labels, params, lm=wrong, **settings
    )


CASES = [
    Case(
        name="target_loss",
        section="models",
        title="Loss of a target: Bart and Marian",
        reference=target_loss,
        inputs=inputs,
        outputs=("loss", "logits"),
        configs=(
            Config("bart", sizes(BART, 4, 6, **LABELLED), OF_BART),
            Config("bart_padded", sizes(BART, 5, 7, **PADDED, **LABELLED), OF_BART, oracles=False),
            # Its targets begin with the padding token.
            Config("marian", sizes(MARIAN, 4, 6, **LABELLED), OF_MARIAN, oracles=False),
        ),
        peers={"transformers": transformers_loss},
        coarse_erf=("transformers",),
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "target not shifted": rewritten(target_loss, shifted_right=lambda labels, **ids: abs(labels) % 17),
            "starts with padding": rewritten(target_loss, "=config.start_id", "=config.pad_id"),
            "ended targets begin anew": rewritten(target_loss, "=config.pad_id", "=config.start_id"),
            "gradient of the logits lost": rewritten(target_loss, " + dlogits_here", ""),
            "tied head not in the gradient": on_wrong_lm('dbackbone[TABLE] + dhead["weight"]', "dbackbone[TABLE]"),
            "gradient of the head alone": on_wrong_lm('dbackbone[TABLE] + dhead["weight"]', 'dhead["weight"]'),
            "bias of the head left out": on_wrong_lm(
                head_params=lambda params: {**head_params(params), "bias": 0.0 * params[HEAD_BIAS]}
            ),
        },
    ),
    Case(
        name="encoder_decoder_lm",
        section="models",
        title="Encoder–decoder: the original Transformer",
        reference=encoder_decoder_lm,
        inputs=inputs,
        configs=(
            Config("vaswani", sizes(VASWANI, 5, 4), {"config": VASWANI}),
            Config("padded", sizes(VASWANI, 4, 6, **PADDED), {"config": VASWANI}, oracles=False),
        ),
        peers={"torch": torch_lm},
        dtypes=("float64", "float32"),
        oracles=("autograd",),
        bugs={
            "sines before cosines": rewritten(encoder_decoder_lm, encoder_decoder=wrong_embeddings(
                _sinusoidal=rewritten(_sinusoidal, "layout=config.positions", 'layout="concatenated"')
            )),
            "tied head not in the gradient": rewritten(
                encoder_decoder_lm, 'dbackbone[TABLE] + dhead["weight"]', "dbackbone[TABLE]"
            ),
            "logits from the embedded target": rewritten(encoder_decoder_lm, "linear(states[-1]", "linear(states[-2]"),
        },
    ),
]  # fmt: skip
