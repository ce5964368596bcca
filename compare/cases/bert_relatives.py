"""RoBERTa, DistilBERT and ALBERT: the same text as BERT, in other settings, against `transformers`."""

import numpy as np

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal_params
from compare.peers.bert_relatives import peer
from refimpl.checkpoints.families.bert.settings import RELATIVES
from refimpl.models.bert import model as bert_module
from refimpl.models.bert.config import BertConfig
from refimpl.models.bert.heads import bert_for_pretraining, bert_for_sequence_classification
from refimpl.models.bert.model import bert, bert_embeddings
from refimpl.models.bert.tasks import bert_for_classification, bert_for_masked_lm

SMALL = {"vocab_size": 17, "d_model": 12, "n_head": 3, "d_ff": 10, "n_label": 4}
ROBERTA = BertConfig(**SMALL, n_position=12, n_segment=1, n_layer=2, pad_id=2, **RELATIVES["roberta"].fixed,
                     activation="gelu_tanh", norm_eps=1e-5)  # fmt: skip
DISTILBERT = BertConfig(**SMALL, n_position=9, n_layer=2, pad_id=1, **RELATIVES["distilbert"].fixed)
ALBERT = BertConfig(**SMALL, n_position=9, n_segment=3, n_layer=3, d_embed=5, n_block=2, activation="gelu_tanh")


def inputs_of(model_type, *groups):
    def inputs(generator, *, config, n_batch, n_seq):
        # No padding token among the others, as in the case of BERT.
        token_ids = (generator.integers(1, config.vocab_size, (n_batch, n_seq)) + config.pad_id) % config.vocab_size
        segment_ids = generator.integers(0, config.n_segment or 1, (n_batch, n_seq))
        # Padding before, behind, and nowhere.
        places = np.arange(n_seq)
        is_token = np.stack([places >= 2, places < n_seq - 1, places >= 0])[:n_batch]
        token_ids = np.where(is_token, token_ids, config.pad_id)
        rows = [row for row in RELATIVES[model_type].names.rows(config) if row.group in ("encoder", *groups)]
        params = normal_params(generator, {row.ours: row.our_shape for row in rows})
        ids = (token_ids, segment_ids if config.n_segment else None)
        return Inputs((*ids, params), {"mask": is_token[:, None, None, :]})

    return inputs


def case(name, title, model_type, reference, config, groups, class_name, outputs, bugs, names=("y",), **settings):
    return Case(
        name=name,
        section="models",
        title=title,
        reference=reference,
        inputs=inputs_of(model_type, *groups),
        outputs=names,
        # The gradient of padding's token is 0 by convention, not by calculus.
        configs=(
            Config("padded", {"config": config, "n_batch": 3, "n_seq": 6}, {"config": config, **settings},
                   oracles=False),
        ),
        dtypes=("float64", "float32"),
        peers={"transformers": _with_settings(peer(class_name, model_type, *outputs))},
        coarse_erf=("transformers",),
        bugs=bugs,
    )  # fmt: skip


def _with_settings(function):
    """Leave out the settings that only the reference needs: the class of the peer implies them."""

    def of_class(*args, config, mask, **settings):
        return function(*args, config=config, mask=mask)

    return of_class


def embeddings_with(old, new):
    return rewritten(bert, bert_embeddings=rewritten(bert_embeddings, old, new))


def in_embeddings(name, old, new):
    """Edit a helper of the embeddings."""
    helper = rewritten(getattr(bert_module, name), old, new)
    return rewritten(bert, bert_embeddings=rewritten(bert_embeddings, **{name: helper}))


STATES = ("hidden_states",)
CASES = [
    case(
        "roberta", "RoBERTa", "roberta", bert, ROBERTA, (), "RobertaModel", STATES,
        {
            "positions counted from 0": in_embeddings("_plus_positions", "config.positions_after_padding", "False"),
            "padding counted as positions": in_embeddings("_plus_positions", "!= config.pad_id", ">= 0"),
            "position of padding trained": in_embeddings("_plus_positions", ", padding_id=config.pad_id)", ")"),
        },
        names=tuple(f"state{i}" for i in range(ROBERTA.n_layer + 1)),
    ),
    case(
        "distilbert", "DistilBERT", "distilbert", bert, DISTILBERT, (), "DistilBertModel", STATES,
        {
            "mask ignored": rewritten(bert, "mask=mask", "mask=None"),
            "gradient of the positions lost": embeddings_with(
                'add_prefix("position.", dposition)',
                'add_prefix("position.", {key: 0.0 * d for key, d in dposition.items()})',
            ),
        },
        names=tuple(f"state{i}" for i in range(DISTILBERT.n_layer + 1)),
    ),
    case(
        "albert", "ALBERT", "albert", bert, ALBERT, (), "AlbertModel", STATES,
        {
            "layers share the wrong blocks": rewritten(
                bert, _of_layers=rewritten(bert_module._of_layers, "config.block_of(i)", "i % 2")
            ),
            "gradient of one layer of a shared block only": rewritten(
                bert, _of_blocks=rewritten(bert_module._of_blocks, "add_gradients(total.get(key), d)", "d")
            ),
            "gradient past the projection": embeddings_with(
                "dnormed, dprojection = projection_pullback(dy)",
                "dnormed, dprojection = dy[..., : normed.shape[-1]], projection_pullback(dy)[1]",
            ),
        },
        names=tuple(f"state{i}" for i in range(ALBERT.n_layer + 1)),
    ),
    case(
        "roberta_masked_lm", "RoBERTa for masked tokens", "roberta", bert_for_masked_lm, ROBERTA, ("mlm",),
        "RobertaForMaskedLM", ("logits",),
        {
            "activation of the blocks in the head": rewritten(
                bert_for_masked_lm, "config.head_activation or config.activation", "config.activation"
            ),
            "tied gradient not added": rewritten(
                bert_for_masked_lm, 'dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]', "dbackbone[TOKEN_TABLE]"
            ),
        },
    ),
    case(
        "roberta_classification", "RoBERTa for sequence classification", "roberta", bert_for_classification, ROBERTA,
        ("head",), "RobertaForSequenceClassification", ("logits",),
        {
            "relu for tanh": rewritten(bert_for_classification, "activation=activation,", 'activation="relu",'),
            "the mean of all": rewritten(bert_for_classification, "pooling=pooling", 'pooling="mean"'),
        },
        activation="tanh",
    ),
    case(
        "distilbert_classification", "DistilBERT for sequence classification", "distilbert",
        bert_for_sequence_classification, DISTILBERT, ("pooler", "classifier"),
        "DistilBertForSequenceClassification", ("logits",),
        {
            "tanh for relu": rewritten(
                bert_for_sequence_classification, "activation=config.pooler_activation", 'activation="tanh"'
            ),
        },
    ),
    case(
        "distilbert_masked_lm", "DistilBERT for masked tokens", "distilbert", bert_for_masked_lm, DISTILBERT, ("mlm",),
        "DistilBertForMaskedLM", ("logits",),
        {"mask ignored": rewritten(bert_for_masked_lm, "mask=mask)", "mask=None)")},
    ),
    case(
        "albert_pretraining", "ALBERT for pre-training", "albert", bert_for_pretraining, ALBERT,
        ("pooler", "mlm", "nsp"), "AlbertForPreTraining", ("prediction_logits", "sop_logits"),
        {
            "tied gradient not added": rewritten(
                bert_for_pretraining, 'dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]', "dbackbone[TOKEN_TABLE]"
            ),
        },
        names=("token_logits", "order_logits"),
    ),
]  # fmt: skip
