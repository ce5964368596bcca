"""The attention weights of our BERT and of our GPT, from their own texts."""

from contextvars import ContextVar

import numpy as np

from compare.cases.bug import rewritten
from refimpl.attention.with_weights import attention_with_weights
from refimpl.blocks.encoder import encoder
from refimpl.models.bert.model import bert
from refimpl.models.gpt.model import gpt

_seen = ContextVar("weights")


def _telling_attention(q, k, v, *, mask=None):
    (y, weights, _), _ = attention_with_weights(q, k, v, mask=mask)
    _seen.get().append(weights)
    return y, None  # only forwards


def _telling_encoder(x, params, **settings):
    return encoder(x, params, attend=_telling_attention, **settings)


BERT = rewritten(bert, encoder=_telling_encoder)
GPT = rewritten(gpt, encoder=_telling_encoder)


def attention_weights(checkpoint, token_ids):
    """Run a model and keep the weights of all its heads.

    Parameters
    ----------
    checkpoint : Checkpoint
        A BERT or a GPT.
    token_ids : list of int
        What it reads.

    Returns
    -------
    list of numpy.ndarray, each of shape (n_head, n_seq, n_seq)
        By layer, the share that a row's token takes of a column's.
    """
    params, config = checkpoint.params, checkpoint.config
    ids = np.array([token_ids])
    seen = []
    token = _seen.set(seen)
    try:
        if checkpoint.model_type == "bert":
            known = {key: x for key, x in params.items() if key.startswith(("embeddings.", "encoder."))}
            BERT(ids, 0 * ids, known, config=config)
        else:
            known = {key: x for key, x in params.items() if not key.startswith(("head.", "classifier."))}
            GPT(ids, known, config=config)
    finally:
        _seen.reset(token)
    return [weights[0] for weights in seen]


def habits(weights):
    """Say in a few numbers where heads look.

    Parameters
    ----------
    weights : list of numpy.ndarray
        As `attention_weights` gives them.

    Returns
    -------
    dict of (str, list of float)
        By layer, means over heads and queries: the share of weight on earlier tokens, on the token itself, on later
        ones and on the first; and the entropy in bits.
    """
    before = np.tri(weights[0].shape[-1], k=-1)
    found = {"earlier": [], "itself": [], "later": [], "the first": [], "entropy, bits": []}
    for layer in weights:
        mean = layer.mean(axis=0)
        n_seq = mean.shape[0]
        found["earlier"].append(float((mean * before).sum() / n_seq))
        found["itself"].append(float(np.trace(mean) / n_seq))
        found["later"].append(float((mean * before.T).sum() / n_seq))
        found["the first"].append(float(mean[:, 0].mean()))
        logs = np.log2(np.where(layer > 0, layer, 1.0))
        found["entropy, bits"].append(float(-(layer * logs).sum(axis=-1).mean()))
    return found
