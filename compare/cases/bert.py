"""BERT without heads: its embeddings, and all its hidden states, against `transformers`."""

import numpy as np

from compare.cases.attention_weights import draw_mask
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.draw import normal_params
from compare.cases.encoder import wrong_stack
from compare.peers.transformers_peer import bert_model, call_bert, their_names
from refimpl.blocks.encoder import encoder
from refimpl.checkpoints.families.bert.names import bert_rows
from refimpl.layers.embedding import embedding
from refimpl.models.bert.config import BertConfig
from refimpl.models.bert.model import bert, bert_embeddings

SMALL = {"vocab_size": 17, "n_position": 9, "n_segment": 3, "d_model": 12, "n_layer": 2, "n_label": 4}
ERF = BertConfig(**SMALL, n_head=3, d_ff=10, pad_id=2)
TANH = BertConfig(**SMALL, n_head=2, d_ff=7, activation="gelu_tanh", norm_eps=1e-5)
RELU = BertConfig(**SMALL, n_head=1, d_ff=5, activation="relu")
MIDDLE = BertConfig(
    vocab_size=1000, n_position=128, n_segment=2, d_model=256, n_layer=2, n_head=4, d_ff=1024, n_label=2
)


def bert_params(generator, config, *groups):
    """Draw the parameters of some groups of the name map, such as "encoder" and "pooler"."""
    return normal_params(generator, {row.ours: row.our_shape for row in bert_rows(config) if row.group in groups})


def draw_ids(generator, config, n_batch, n_seq, padded):
    """Draw tokens and segments, and where sequences are padded their mask."""
    # No padding token among the others, so that its gradient is 0 with or without the rule that it is never trained.
    token_ids = (generator.integers(1, config.vocab_size, (n_batch, n_seq)) + config.pad_id) % config.vocab_size
    segment_ids = generator.integers(0, config.n_segment, (n_batch, n_seq))
    if not padded:
        return token_ids, segment_ids, {}
    mask = draw_mask(generator, "padding", (n_batch, config.n_head), n_seq, n_seq)
    return np.where(mask[:, 0, 0], token_ids, config.pad_id), segment_ids, {"mask": mask}


def inputs(generator, *, config, n_batch, n_seq, padded=False):
    *ids, masks = draw_ids(generator, config, n_batch, n_seq, padded)
    return Inputs((*ids, bert_params(generator, config, "encoder")), masks)


def embedding_inputs(generator, *, config, n_batch, n_seq, padded=False):
    *ids, _ = draw_ids(generator, config, n_batch, n_seq, padded)
    params = bert_params(generator, config, "encoder")
    prefix = "embeddings."
    return Inputs((*ids, {key.removeprefix(prefix): x for key, x in params.items() if key.startswith(prefix)}))


def transformers_embeddings(token_ids, segment_ids, params, *, config):
    model = bert_model("BertModel", config).embeddings
    ours = {f"embeddings.{key}": x for key, x in params.items()}
    theirs = {name.removeprefix("embeddings."): x for name, x in their_names(ours, config, prefix="").items()}
    return call_bert(model, theirs, token_ids, segment_ids)


def transformers_bert(token_ids, segment_ids, params, *, config, mask=None):
    model = bert_model("BertModel", config, frozenset())
    theirs = their_names(params, config, prefix="")
    return call_bert(model, theirs, token_ids, segment_ids, mask, output_hidden_states=True).hidden_states


def configs(wide):
    """Fill the input domain of a BERT: kinds of activation, padding, segments, and a size worth measuring."""
    return (
        Config("erf", {"config": ERF, "n_batch": 2, "n_seq": 5}, {"config": ERF}),
        # The padding token's gradient is 0 by convention, not by calculus.
        Config("padded", {"config": ERF, "n_batch": 4, "n_seq": 6, "padded": True}, {"config": ERF}, oracles=False),
        Config("tanh", {"config": TANH, "n_batch": 3, "n_seq": 4}, {"config": TANH}),
        Config("relu", {"config": RELU, "n_batch": 2, "n_seq": 9}, {"config": RELU}),
        Config("wide", {"config": MIDDLE, "n_batch": 2, "n_seq": wide}, {"config": MIDDLE}, measured=True),
    )


def overwritten(ids, values, n):
    """Write rows where they should have been added: of a repeated id, the last one wins."""
    one_hot = ids[:, None] == np.arange(n)
    is_last = one_hot & (np.cumsum(one_hot[::-1], axis=0)[::-1] == 1)
    return np.einsum("rn,rd->nd", is_last.astype(values.dtype), values)


CASES = [
    Case(
        name="bert_embeddings",
        section="models",
        title="BERT embeddings",
        reference=bert_embeddings,
        inputs=embedding_inputs,
        configs=configs(wide=128),
        peers={"transformers": transformers_embeddings},
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=("transformers",),
        bugs={
            "segment ids ignored": rewritten(bert_embeddings, "tokens, segment_ids,", "tokens, 0 * segment_ids,"),
            "segments all 1": rewritten(bert_embeddings, "tokens, segment_ids,", "tokens, 0 * segment_ids + 1,"),
            "padding row trained": rewritten(bert_embeddings, "padding_id=config.pad_id", "padding_id=None"),
            "row 0 taken for padding": rewritten(bert_embeddings, "padding_id=config.pad_id", "padding_id=0"),
            "eps of the checkpoint ignored": rewritten(bert_embeddings, "eps=config.norm_eps", "eps=1e-5"),
            "gradient of repeated tokens not added": rewritten(
                bert_embeddings, embedding=rewritten(embedding, scatter_add=overwritten)
            ),
        },
    ),
    Case(
        name="bert",
        section="models",
        title="BERT",
        reference=bert,
        inputs=inputs,
        outputs=tuple(f"state{i}" for i in range(ERF.n_layer + 1)),
        configs=configs(wide=64),
        peers={"transformers": transformers_bert},
        coarse_erf=("transformers",),
        # As in the case of layer_norm: PyTorch 2.13 on the CPU adds up the gradient of the norm's bias in 16 bits.
        sums_in_storage=("transformers",),
        bugs={
            "mask ignored": rewritten(bert, "mask=mask", "mask=None"),
            "always the erf GELU": rewritten(bert, "config.activation", '"gelu"'),
            "one head": rewritten(bert, "config.n_head", "1"),
            "gradient of the embedded state lost": rewritten(
                bert, "add_gradients(dembedded_here, dembedded)", "dembedded"
            ),
            "gradients of inner states lost": rewritten(
                bert, encoder=wrong_stack(encoder, "gradients of inner states lost")
            ),
        },
    ),
]
