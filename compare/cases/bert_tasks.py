"""The heads with which BERT is fine-tuned, against `transformers` and PyTorch's functions."""

from dataclasses import replace

import torch

from compare.cases.bert import bert_params, configs, draw_ids
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.feed_forward import TORCH_ACTIVATIONS
from compare.peers.bert_relatives import peer
from refimpl.models.bert.tasks import (
    bert_for_masked_lm,
    bert_for_question_answering,
    bert_for_token_classification,
    classification_head,
    pooled_tokens,
)

ACTIVATIONS = TORCH_ACTIVATIONS | {"tanh": torch.tanh}


def pool_inputs(generator, *, n_batch, n_seq, d_model, padded=False):
    is_token = generator.random((n_batch, n_seq)) < 0.6
    is_token[0] = False  # the mean of nothing
    return Inputs((normal(generator, n_batch, n_seq, d_model),), {"is_token": is_token} if padded else {})


def torch_pool(x, *, pooling="first", is_token=None):
    if pooling == "first":
        return x[:, 0].clone()
    weight = torch.ones(x.shape[:2]) if is_token is None else is_token
    weight = weight.to(x.dtype)
    return torch.einsum("bs,bsd->bd", weight, x) / weight.sum(1, keepdim=True).clamp(min=1)


def head_inputs(generator, *, lead, d_model, n_label, d=0, normed=False):
    shapes = {"out.weight": (n_label, d or d_model), "out.bias": (n_label,)}
    shapes |= {"dense.weight": (d, d_model), "dense.bias": (d,)} if d else {}
    shapes |= {"norm.weight": (d,), "norm.bias": (d,)} if normed else {}
    return Inputs((normal(generator, *lead, d_model), normal_params(generator, shapes)))


def torch_head(x, params, *, activation="relu", eps=1e-5):
    functional = torch.nn.functional
    if "dense.weight" in params:
        x = ACTIVATIONS[activation](functional.linear(x, params["dense.weight"], params["dense.bias"]))
    if "norm.weight" in params:
        x = functional.layer_norm(x, x.shape[-1:], params["norm.weight"], params["norm.bias"], eps)
    return functional.linear(x, params["out.weight"], params["out.bias"])


def _inputs_of(*groups):
    def inputs(generator, *, config, n_batch, n_seq, padded=False):
        *ids, masks = draw_ids(generator, config, n_batch, n_seq, padded)
        return Inputs((*ids, bert_params(generator, config, "encoder", *groups)), masks)

    return inputs


def model_case(reference, title, groups, class_name, outputs, bugs, names=("y",), **changes):
    return Case(
        name=reference.__name__,
        section="models",
        title=title,
        reference=reference,
        inputs=_inputs_of(*groups),
        outputs=names,
        configs=tuple(_changed(config, changes) for config in configs(wide=64) if config.name in ("padded", "tanh")),
        dtypes=("float64", "float32"),
        peers={"transformers": peer(class_name, "bert", *outputs)},
        coarse_erf=("transformers",),
        bugs=bugs,
    )


def _changed(config, changes):
    changed = {"config": replace(config.sizes["config"], **changes)}
    return replace(config, sizes={**config.sizes, **changed}, settings={**config.settings, **changed})


CASES = [
    Case(
        name="pooled_tokens",
        section="models",
        title="First token, or mean of all",
        reference=pooled_tokens,
        inputs=pool_inputs,
        configs=(
            Config("first", {"n_batch": 4, "n_seq": 5, "d_model": 7}),
            Config("mean", {"n_batch": 3, "n_seq": 4, "d_model": 6}, {"pooling": "mean"}),
            Config("padded", {"n_batch": 5, "n_seq": 6, "d_model": 3, "padded": True}, {"pooling": "mean"}),
        ),
        peers={"torch": torch_pool},
        bugs={
            "padding counted": rewritten(pooled_tokens, "divisor = xp.where(n_taken == 0.0, 1.0, n_taken)",
                                         "divisor = 0.0 * n_taken + x.shape[1]"),
            "last token for the first": rewritten(pooled_tokens, "places == 0", "places == x.shape[1] - 1"),
            "gradient to padding": rewritten(pooled_tokens, "dx = xp.where(kept,", "dx = xp.where(kept | ~kept,"),
        },
    ),
    Case(
        name="classification_head",
        section="models",
        title="Head of classification",
        reference=classification_head,
        inputs=head_inputs,
        configs=(
            Config("linear", {"lead": (5,), "d_model": 7, "n_label": 3}),
            Config("dense", {"lead": (4,), "d_model": 6, "n_label": 2, "d": 9}, {"activation": "tanh"}),
            Config("normed", {"lead": (3, 2), "d_model": 5, "n_label": 4, "d": 8, "normed": True}, {"eps": 1e-3}),
        ),
        peers={"torch": torch_head},
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=("torch",),
        bugs={
            "no activation": rewritten(
                classification_head, "activation_named(activation)(dense) if", "project(dense, {}) if"
            ),
            "norm before the activation": rewritten(classification_head, "layer_norm(bent,", "layer_norm(dense,"),
            "eps ignored": rewritten(classification_head, "eps=eps)", "eps=1e-12)"),
            "activation missing in the backward": rewritten(
                classification_head, "ddense, *_ = bend_pullback(dbent)", "ddense = dbent"
            ),
        },
    ),
    model_case(
        bert_for_token_classification, "BERT for token classification", ("classifier",), "BertForTokenClassification",
        ("logits",),
        {
            "the state before the last": rewritten(bert_for_token_classification, "states[-1]", "states[-2]"),
            "mask ignored": rewritten(bert_for_token_classification, "mask=mask)", "mask=None)"),
            "gradient to the first state": rewritten(
                bert_for_token_classification, "(*[None] * config.n_layer, dlast)",
                "(dlast, *[None] * (config.n_layer - 1), 0.0 * dlast)",
            ),
        },
    ),
    model_case(
        bert_for_question_answering, "BERT for question answering", ("qa",), "BertForQuestionAnswering",
        ("start_logits", "end_logits"),
        {
            "start and end exchanged": rewritten(
                bert_for_question_answering, "(scores[..., 0], scores[..., 1])", "(scores[..., 1], scores[..., 0])"
            ),
            "gradients of start and end exchanged": rewritten(
                bert_for_question_answering, "[dstart, dend]", "[dend, dstart]"
            ),
        },
        names=("start", "end"),
        n_label=2,
    ),
    model_case(
        bert_for_masked_lm, "BERT for masked tokens", ("mlm",), "BertForMaskedLM", ("logits",),
        {
            "tied gradient not added": rewritten(
                bert_for_masked_lm, 'dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]', "dbackbone[TOKEN_TABLE]"
            ),
            "head without its eps": rewritten(bert_for_masked_lm, "eps=config.norm_eps", "eps=0.1"),
        },
    ),
]  # fmt: skip
