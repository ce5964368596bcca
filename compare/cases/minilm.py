"""MiniLM, a BERT with trained weights, on real sentences, against `transformers` with the same weights."""

import numpy as np
import torch

from compare.cases import minilm_data
from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.feed_forward import always
from compare.peers.transformers_peer import bert_model, call_bert, their_names
from refimpl.arrays import add_prefix, keyed_as, pick, scope
from refimpl.attention.mask import padding_mask
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.blocks.encoder_block import post_norm_block
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.gelu import gelu_tanh
from refimpl.models.bert.heads import TOKEN_TABLE, pooler
from refimpl.models.bert.model import bert
from refimpl.models.masked_token_loss import masked_token_loss
from refimpl.models.sentence_embedding import sentence_embedding

N_LAYER = 6
MASKED_SHARE = 0.15


def minilm(token_ids, positions, targets, params, *, is_token):
    """Embed sentences, and guess those of their tokens that were masked.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, some of them masked.
    positions, targets : array of int, shape (n_masked,)
        Where tokens were masked, and which (see `masked_token_loss`).
    params : dict of array
        Those of `bert`, and ``pooler.*``.
    is_token : array of bool, shape (n_batch, n_seq)
        False for padding.

    Returns
    -------
    y : tuple of array
        The hidden states, first to last, the sentence embeddings, what the pooler says, and the loss.
    pullback : callable
        Maps a tuple of as many dy to ``(dparams,)``.
    """
    _, config = minilm_data.load_model()
    backbone = pick(params, *(key for key in params if not key.startswith("pooler.")))
    states, bert_pullback = bert(token_ids, 0 * token_ids, backbone, config=config, mask=padding_mask(is_token))
    embedded, embedding_pullback = sentence_embedding(states[-1], is_token=is_token)
    pooled, pooler_pullback = pooler(states[-1], scope(params, "pooler."))
    loss, loss_pullback = masked_token_loss(states[-1], positions, targets, {"weight": params[TOKEN_TABLE]})

    def pullback(dy):
        *dinner, dlast, dembedded, dpooled, dloss = dy
        dlast_guessed, dtable = loss_pullback(dloss)
        dlast_pooled, dpooler = pooler_pullback(dpooled)
        (dlast_embedded,) = embedding_pullback(dembedded)
        dstates = (*dinner, add_gradients(dlast, dlast_embedded, dlast_pooled, dlast_guessed))
        (dbackbone,) = bert_pullback(dstates)
        # The token table is used twice, at the bottom and, tied, at the top.
        tied = {TOKEN_TABLE: dbackbone[TOKEN_TABLE] + dtable["weight"]}
        dparams = {**dbackbone, **tied, **add_prefix("pooler.", dpooler)}
        return (keyed_as(dparams, params),)

    return (*states, embedded, pooled, loss), pullback


def transformers_minilm(token_ids, positions, targets, params, *, is_token):
    _, config = minilm_data.load_model()
    theirs = their_names(params, config, prefix="")
    model = bert_model("BertModel", config)
    mask = is_token[:, None, None, :]
    found = call_bert(model, theirs, token_ids, 0 * token_ids, mask, output_hidden_states=True)
    last = found.last_hidden_state
    # The modules Pooling and Normalize of Sentence-Transformers.
    kept = is_token[..., None].to(last.dtype)
    embedded = torch.nn.functional.normalize((last * kept).sum(1) / kept.sum(1))
    logits = torch.nn.functional.linear(last.reshape(-1, config.d_model)[positions], params[TOKEN_TABLE])
    loss = torch.nn.functional.cross_entropy(logits, targets)
    return (*found.hidden_states, embedded, found.pooler_output, loss)


def inputs(generator, *, first=0, last=None, n_seq=None):
    """Take some of the sentences, sorted by length, or one long sequence; mask 15 % of the tokens."""
    params, config = minilm_data.load_model()
    sequences = minilm_data.sorted_tokens()[first:last] if n_seq is None else [minilm_data.long_sequence(n_seq)]
    token_ids, is_token = minilm_data.pad(sequences, config.pad_id)
    # The first and the last token of a sequence, [CLS] and [SEP], are never masked.
    guessable = is_token & np.roll(is_token, -1, axis=1)
    guessable[:, [0, -1]] = False
    places = np.flatnonzero(guessable)
    positions = np.sort(generator.choice(places, max(round(MASKED_SHARE * places.size), 1), replace=False))
    targets = token_ids.ravel()[positions]
    masked = token_ids.copy()
    masked.ravel()[positions] = minilm_data.tokenizer().token_to_id("[MASK]")
    return Inputs((masked, positions, targets, params), {"is_token": is_token})


def loss_cotangents(generator, outputs):
    """Differentiate the loss; embeddings and pooler, which have no part in it, get directions of their own.

    Without them the pooler's weights would have no gradient to compare.  Hidden states get none: what reaches them is
    what the outputs above them send down.
    """
    *states, embedded, pooled, loss = outputs
    aside = [generator.standard_normal(y.shape) / y.size**0.5 for y in (embedded, pooled)]
    return [*(np.zeros(y.shape) for y in states), *aside, np.ones(loss.shape)]


TANH_BLOCK = rewritten(
    post_norm_block, feed_forward=rewritten(feed_forward, activation_named=always(gelu_tanh))
)
# 40 sentences in two padded batches are quick; those of middling length have a batch of their own.
SHORT, MIDDLE, LONG = {"first": 0, "last": 32}, {"first": 32, "last": 40}, {"first": 40, "last": None}

CASES = [
    Case(
        name="minilm",
        section="models",
        title="MiniLM on real sentences",
        reference=minilm,
        inputs=inputs,
        outputs=(*(f"state{i}" for i in range(N_LAYER + 1)), "embeddings", "pooled", "loss"),
        configs=(
            Config("short", SHORT),
            Config("long", LONG),
            Config("middle", MIDDLE, profile="full"),
            Config("few", {"first": 10, "last": 13}, profile="full"),
            Config("seq128", {"n_seq": 128}, measured=True, judged=False),
            Config("seq512", {"n_seq": 512}, measured=True, judged=False),
        ),
        peers={"transformers": transformers_minilm},
        dtypes=("float64", "float32"),
        # 104 tensors of 22.7 million numbers: no time for longdouble, nor for a derivative along every tensor.
        extended_truth=False,
        oracles=(),
        plant_in=("few",),
        coarse_erf=("transformers",),
        cotangents=loss_cotangents,
        bugs={
            "tied gradient not added": rewritten(
                minilm, 'dbackbone[TOKEN_TABLE] + dtable["weight"]', "dbackbone[TOKEN_TABLE]"
            ),
            "padding attended to": rewritten(minilm, "mask=padding_mask(is_token)", "mask=None"),
            "tanh GELU for erf GELU": rewritten(
                minilm, bert=rewritten(bert, encoder=rewritten(encoder, post_norm_block=TANH_BLOCK))
            ),
        },
    )
]
