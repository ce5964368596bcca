"""What BERT is trained and used for: pooler, masked-token and next-sentence heads, classification."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_gradients,
    check_params,
    check_scopes,
    check_setting,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.activation import activation_named
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.models.bert.model import BACKBONE, bert

TOKEN_TABLE = "embeddings.token.weight"
MLM_KEYS = ("dense.weight", "dense.bias", "norm.weight", "norm.bias", "decoder.bias")


def pooler(x, params, *, activation="tanh"):
    """Sum up a sequence in one vector: the first token's, mapped and squashed.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The last hidden states.
    params : dict of array
        ``weight`` (d_model, d_model) and ``bias`` (d_model,).
    activation : str, optional
        What squashes; DistilBERT, where it belongs to the head of classification, has "relu".

    Returns
    -------
    y : array, shape (n_batch, d_model)
        ``tanh(x[:, 0] W' + b)``.
    pullback : callable
        Maps dy to ``(dx, dparams)``.
    """
    xp = array_namespace(x, params)
    check_shape("x", x, (None, None, None))
    check_setting("n_seq", x.shape[1], x.shape[1] > 0, "at least 1")
    mapped, linear_pullback = linear(x[:, 0], params)
    y, bend_pullback = activation_named(activation)(mapped)

    def pullback(dy):
        (dmapped,) = bend_pullback(dy)
        dfirst, dparams = linear_pullback(dmapped)
        dx = xp.pad(dfirst[:, None], ((0, 0), (0, x.shape[1] - 1), (0, 0)), mode="constant")
        return dx, dparams

    return y, pullback


def masked_token_head(x, params, *, activation="gelu", eps=1e-12):
    """Score every token of the vocabulary for every position.

    Parameters
    ----------
    x : array, shape (..., d_model)
        The last hidden states.
    params : dict of array
        ``dense.*`` (see `linear`), ``norm.*`` (see `layer_norm`), ``decoder.weight`` (vocab_size, d_model), which BERT
        ties to the token embeddings, and ``decoder.bias`` (vocab_size,).
    activation : str, optional
        Between the dense map and the norm.
    eps : float, optional
        The eps of the norm.

    Returns
    -------
    y : array, shape (..., vocab_size)
        Logits.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 3.1, task 1.
    """
    check_params(params, ["dense.weight", "decoder.weight"], MLM_KEYS)
    bend = activation_named(activation)
    mapped, dense_pullback = linear(x, scope(params, "dense."))
    bent, bend_pullback = bend(mapped)
    normed, norm_pullback = layer_norm(bent, scope(params, "norm."), eps=eps)
    y, decoder_pullback = linear(normed, scope(params, "decoder."))

    def pullback(dy):
        dnormed, ddecoder = decoder_pullback(dy)
        dbent, dnorm = norm_pullback(dnormed)
        (dmapped,) = bend_pullback(dbent)
        dx, ddense = dense_pullback(dmapped)
        dparams = merge(add_prefix("dense.", ddense), add_prefix("norm.", dnorm), add_prefix("decoder.", ddecoder))
        return dx, keyed_as(dparams, params)

    return y, pullback


def bert_for_pretraining(token_ids, segment_ids, params, *, config, mask=None):
    """Guess the masked tokens, and whether the second sentence follows the first.

    Parameters
    ----------
    token_ids, segment_ids : array of int, shape (n_batch, n_seq)
        As for `bert`.
    params : dict of array
        Those of `bert`, ``pooler.*`` (see `pooler`), ``mlm.dense.*``, ``mlm.norm.*``, ``mlm.decoder.bias`` (see
        `masked_token_head`; the decoder's weight is the token table) and ``nsp.*`` (see `linear`).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `bert`.

    Returns
    -------
    y : tuple of array, shapes (n_batch, n_seq, vocab_size) and (n_batch, 2)
        Logits of the tokens, and of "follows" and "does not follow".
    pullback : callable
        Maps ``(dtoken_logits, dnext_logits)`` to ``(dparams,)``.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 3.1.
    """
    head_keys = [f"mlm.{key}" for key in MLM_KEYS] + ["pooler.weight", "pooler.bias", "nsp.weight", "nsp.bias"]
    backbone = backbone_of(params, head_keys)
    states, bert_pullback = bert(token_ids, segment_ids, backbone, config=config, mask=mask)
    head_params = {**scope(params, "mlm."), "decoder.weight": params[TOKEN_TABLE]}
    settings = {"activation": config.head_activation or config.activation, "eps": config.norm_eps}
    token_logits, mlm_pullback = masked_token_head(states[-1], head_params, **settings)
    pooled, pooler_pullback = pooler(states[-1], scope(params, "pooler."), activation=config.pooler_activation)
    next_logits, nsp_pullback = linear(pooled, scope(params, "nsp."))

    def pullback(dy):
        check_gradients(dy, (token_logits, next_logits))
        dtoken_logits, dnext_logits = dy
        dpooled, dnsp = nsp_pullback(dnext_logits)
        dlast_pooled, dpooler = pooler_pullback(dpooled)
        dlast_mlm, dmlm = mlm_pullback(dtoken_logits)
        (dbackbone,) = bert_pullback((*[None] * config.n_layer, dlast_pooled + dlast_mlm))
        # The token table is used twice, at the bottom and, tied, at the top.
        tied = {TOKEN_TABLE: dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]}
        dheads = merge(add_prefix("mlm.", dmlm), add_prefix("pooler.", dpooler), add_prefix("nsp.", dnsp))
        dparams = {**dbackbone, **tied, **dheads}
        return (keyed_as(dparams, params),)

    return (token_logits, next_logits), pullback


def bert_for_sequence_classification(token_ids, segment_ids, params, *, config, mask=None):
    """Sort whole sequences into classes.

    Parameters
    ----------
    token_ids, segment_ids : array of int, shape (n_batch, n_seq)
        As for `bert`.
    params : dict of array
        Those of `bert`, ``pooler.*`` (see `pooler`) and ``classifier.*`` (see `linear`).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `bert`.

    Returns
    -------
    y : array, shape (n_batch, n_label)
        Logits.
    pullback : callable
        Maps dy to ``(dparams,)``.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 4.1.
    """
    backbone = backbone_of(params, ["pooler.weight", "pooler.bias", "classifier.weight", "classifier.bias"])
    states, bert_pullback = bert(token_ids, segment_ids, backbone, config=config, mask=mask)
    pooled, pooler_pullback = pooler(states[-1], scope(params, "pooler."), activation=config.pooler_activation)
    y, classifier_pullback = linear(pooled, scope(params, "classifier."))

    def pullback(dy):
        dpooled, dclassifier = classifier_pullback(dy)
        dlast, dpooler = pooler_pullback(dpooled)
        (dbackbone,) = bert_pullback((*[None] * config.n_layer, dlast))
        dheads = merge(add_prefix("pooler.", dpooler), add_prefix("classifier.", dclassifier))
        dparams = {**dbackbone, **dheads}
        return (keyed_as(dparams, params),)

    return y, pullback


def backbone_of(params, head_keys):
    """Take the parameters of `bert` from those of a model with heads.

    Parameters
    ----------
    params : dict of array
        All parameters.
    head_keys : sequence of str
        Those of the heads, all of which must be there.

    Returns
    -------
    dict of array
        Those of the backbone.

    Raises
    ------
    ValueError
        If a key is missing or unknown.
    """
    check_scopes(params, (*BACKBONE, *head_keys))
    backbone = {key: value for key, value in params.items() if key.startswith(BACKBONE)}
    check_params({key: value for key, value in params.items() if key not in backbone}, head_keys)
    return backbone
