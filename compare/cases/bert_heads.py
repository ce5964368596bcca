"""The heads of BERT, and BERT with its heads, against `transformers`."""

import torch

from compare.cases.bert import bert_params, configs, draw_ids
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal, normal_params
from compare.cases.feed_forward import TORCH_ACTIVATIONS, always
from compare.peers.transformers_peer import bert_model, call_bert, their_names
from refimpl.layers.gelu import gelu_tanh
from refimpl.models.bert.heads import (
    bert_for_pretraining,
    bert_for_sequence_classification,
    masked_token_head,
    pooler,
)

PRETRAINING = ("encoder", "pooler", "mlm", "nsp")
CLASSIFICATION = ("encoder", "pooler", "classifier")


def pooler_inputs(generator, *, n_batch, n_seq, d_model):
    params = normal_params(generator, {"weight": (d_model, d_model), "bias": (d_model,)})
    return Inputs((normal(generator, n_batch, n_seq, d_model), params))


def torch_pooler(x, params):
    return torch.tanh(torch.nn.functional.linear(x[:, 0], params["weight"], params["bias"]))


def head_inputs(generator, *, lead, d_model, vocab_size):
    shapes = {
        "dense.weight": (d_model, d_model), "dense.bias": (d_model,),
        "norm.weight": (d_model,), "norm.bias": (d_model,),
        "decoder.weight": (vocab_size, d_model), "decoder.bias": (vocab_size,),
    }  # fmt: skip
    return Inputs((normal(generator, *lead, d_model), normal_params(generator, shapes)))


def torch_head(x, params, *, activation="gelu", eps=1e-12):
    functional = torch.nn.functional
    bent = TORCH_ACTIVATIONS[activation](functional.linear(x, params["dense.weight"], params["dense.bias"]))
    normed = functional.layer_norm(bent, bent.shape[-1:], params["norm.weight"], params["norm.bias"], eps)
    return functional.linear(normed, params["decoder.weight"], params["decoder.bias"])


def _inputs_of(groups):
    def inputs(generator, *, config, n_batch, n_seq, padded=False):
        *ids, masks = draw_ids(generator, config, n_batch, n_seq, padded)
        return Inputs((*ids, bert_params(generator, config, *groups)), masks)

    return inputs


def _transformers(class_name, groups, outputs):
    def transformers_model(token_ids, segment_ids, params, *, config, mask=None):
        model = bert_model(class_name, config, frozenset(groups) - {"encoder"})
        found = call_bert(model, their_names(params, config), token_ids, segment_ids, mask)
        logits = tuple(found[output] for output in outputs)
        return logits if len(logits) > 1 else logits[0]

    return transformers_model


LAST_TOKEN = rewritten(pooler, "linear(x[:, 0], params)", "linear(x[:, -1], params)")

CASES = [
    Case(
        name="pooler",
        section="models",
        title="BERT pooler",
        reference=pooler,
        inputs=pooler_inputs,
        configs=(
            Config("several", {"n_batch": 4, "n_seq": 5, "d_model": 7}),
            Config("one_token", {"n_batch": 3, "n_seq": 1, "d_model": 6}),
            Config("wide", {"n_batch": 256, "n_seq": 16, "d_model": 384}, measured=True),
        ),
        peers={"torch": torch_pooler},
        bugs={
            "on the last token": LAST_TOKEN,
            "gradient to the last token": rewritten(
                pooler, "((0, 0), (0, x.shape[1] - 1)", "((0, 0), (x.shape[1] - 1, 0)"
            ),
            "tanh missing in the backward": rewritten(pooler, "(dmapped,) = bend_pullback(dy)", "dmapped = dy"),
        },
    ),
    Case(
        name="masked_token_head",
        section="models",
        title="BERT masked-token head",
        reference=masked_token_head,
        inputs=head_inputs,
        configs=(
            Config("rank2", {"lead": (4,), "d_model": 7, "vocab_size": 11}),
            Config("rank3", {"lead": (2, 5), "d_model": 6, "vocab_size": 9}, {"activation": "gelu_tanh", "eps": 1e-3}),
            Config("rank4", {"lead": (2, 3, 4), "d_model": 5, "vocab_size": 8}, {"activation": "relu", "eps": 1e-5}),
            Config("wide", {"lead": (32,), "d_model": 384, "vocab_size": 8192}, measured=True),
        ),
        peers={"torch": torch_head},
        coarse_erf=("torch",),
        bugs={
            "tanh GELU for erf GELU": rewritten(masked_token_head, activation_named=always(gelu_tanh)),
            "norm before the activation": rewritten(masked_token_head, "layer_norm(bent,", "layer_norm(mapped,"),
            "eps ignored": rewritten(masked_token_head, "eps=eps)", "eps=1e-12)"),
        },
    ),
    Case(
        name="bert_for_pretraining",
        section="models",
        title="BERT for pre-training",
        reference=bert_for_pretraining,
        inputs=_inputs_of(PRETRAINING),
        outputs=("token_logits", "next_logits"),
        configs=configs(wide=64),
        peers={
            "transformers": _transformers(
                "BertForPreTraining", PRETRAINING, ("prediction_logits", "seq_relationship_logits")
            )
        },
        coarse_erf=("transformers",),
        bugs={
            "tied gradient not added": rewritten(
                bert_for_pretraining, 'dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]', "dbackbone[TOKEN_TABLE]"
            ),
            "only the tied gradient": rewritten(
                bert_for_pretraining, 'dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]', 'dmlm["decoder.weight"]'
            ),
            "pooler on the last token": rewritten(bert_for_pretraining, pooler=LAST_TOKEN),
            "gradient of the next-sentence head lost": rewritten(
                bert_for_pretraining, "dlast_pooled + dlast_mlm", "dlast_mlm"
            ),
            "mask ignored": rewritten(bert_for_pretraining, "mask=mask)\n    head", "mask=None)\n    head"),
        },
    ),
    Case(
        name="bert_for_sequence_classification",
        section="models",
        title="BERT for sequence classification",
        reference=bert_for_sequence_classification,
        inputs=_inputs_of(CLASSIFICATION),
        configs=configs(wide=64),
        peers={"transformers": _transformers("BertForSequenceClassification", CLASSIFICATION, ("logits",))},
        coarse_erf=("transformers",),
        bugs={
            "pooler on the last token": rewritten(bert_for_sequence_classification, pooler=LAST_TOKEN),
            "pooler on the first state": rewritten(
                bert_for_sequence_classification, "pooler(states[-1]", "pooler(states[0]"
            ),
            "tokens and segments exchanged": rewritten(
                bert_for_sequence_classification, "bert(token_ids, segment_ids,", "bert(segment_ids, segment_ids,"
            ),
            "mask ignored": rewritten(
                bert_for_sequence_classification, "mask=mask)\n    pooled", "mask=None)\n    pooled"
            ),
        },
    ),
]
