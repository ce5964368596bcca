"""What BERT is fine-tuned for: naming tokens, finding answers, sorting texts; and guessing masked tokens alone."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_boolean,
    check_choice,
    check_floating,
    check_gradient,
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
from refimpl.layers.project import project
from refimpl.models.bert.heads import MLM_KEYS, TOKEN_TABLE, backbone_of, masked_token_head
from refimpl.models.bert.model import BACKBONE, bert

POOLINGS = ("first", "mean")
DENSE_KEYS = ("dense.weight", "dense.bias", "norm.weight", "norm.bias")


def pooled_tokens(x, *, pooling="first", is_token=None):
    """Sum up every sequence in one vector: the first token's, or the mean of all.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The last hidden states.
    pooling : {"first", "mean"}, optional
        Which.
    is_token : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding, which is left out of the mean and may hold anything; by default all.

    Returns
    -------
    y : array, shape (n_batch, d_model)
        The vectors; the mean of no token is 0.
    pullback : callable
        Maps dy to ``(dx,)``.

    Raises
    ------
    ValueError
        If a shape does not fit, or `pooling` is unknown.
    TypeError
        If `x` is not floating or `is_token` not boolean.
    """
    xp = array_namespace(x, is_token)
    check_floating(x=x)
    check_boolean(is_token=is_token)
    check_choice("pooling", pooling, POOLINGS)
    check_shape("x", x, (None, None, None))
    check_setting("n_seq", x.shape[1], x.shape[1] > 0, "at least 1")
    if is_token is not None:
        check_shape("is_token", is_token, x.shape[:2])
    places = xp.arange(x.shape[1])[None, :]
    taken = places == 0 if pooling == "first" else (places >= 0 if is_token is None else is_token)
    kept = taken[:, :, None]  # (n_batch or 1, n_seq, 1)
    n_taken = xp.sum(kept.astype(x.dtype), axis=1)
    divisor = xp.where(n_taken == 0.0, 1.0, n_taken)
    y = xp.sum(xp.where(kept, x, 0.0), axis=1) / divisor

    def pullback(dy):
        check_gradient(dy, (x.shape[0], x.shape[2]), x.dtype)
        dx = xp.where(kept, (dy / divisor)[:, None] + xp.zeros_like(x), 0.0)
        return (dx,)

    return y, pullback


def classification_head(x, params, *, activation="relu", eps=1e-5):
    """Score classes: by a linear map, or after another one, an activation and perhaps a norm.

    Parameters
    ----------
    x : array, shape (..., d_model)
        What sums up a sequence.
    params : dict of array
        ``out.weight`` (n_label, d) and ``out.bias``; optionally ``dense.weight`` (d, d_model) and ``dense.bias``; and,
        optionally, ``norm.weight`` and ``norm.bias`` (d,).
    activation : str, optional
        Behind the dense map, where there is one: "tanh" in RoBERTa, "relu" in DistilBERT.
    eps : float, optional
        The eps of the norm.

    Returns
    -------
    y : array, shape (..., n_label)
        Logits.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit: a norm needs the dense map before it.
    TypeError
        If the arrays are not floating, of one dtype and of one library.
    """
    array_namespace(x, params)
    check_scopes(params, ("dense.", "norm.", "out."))
    normed_too = any(key.startswith("norm.") for key in params)
    dense_too = normed_too or any(key.startswith("dense.") for key in params)
    check_params(params, ["out.weight", *(["dense.weight"] if dense_too else [])], [*DENSE_KEYS, "out.bias"])
    check_floating(x=x, params=params)
    dense, dense_pullback = project(x, scope(params, "dense."))
    bent, bend_pullback = activation_named(activation)(dense) if dense_too else project(dense, {})
    norm = scope(params, "norm.")
    normed, norm_pullback = layer_norm(bent, norm, eps=eps) if normed_too else project(bent, {})
    y, out_pullback = linear(normed, scope(params, "out."))

    def pullback(dy):
        dnormed, dout = out_pullback(dy)
        dbent, dnorm = norm_pullback(dnormed)
        ddense, *_ = bend_pullback(dbent)
        dx, ddense_params = dense_pullback(ddense)
        dparams = merge(add_prefix("dense.", ddense_params), add_prefix("norm.", dnorm), add_prefix("out.", dout))
        return dx, keyed_as(dparams, params)

    return y, pullback


def bert_for_classification(
    token_ids, segment_ids, params, *, config, mask=None, is_token=None, pooling="first", activation="relu"
):
    """Sort whole sequences into classes by a head of one's own, on the first token or the mean of all.

    Parameters
    ----------
    token_ids, segment_ids : array of int, shape (n_batch, n_seq)
        As for `bert`.
    params : dict of array
        Those of `bert`, and ``head.*`` (see `classification_head`).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `bert`.
    is_token : array of bool, shape (n_batch, n_seq), optional
        As for `pooled_tokens`.
    pooling : {"first", "mean"}, optional
        As for `pooled_tokens`.
    activation : str, optional
        As for `classification_head`.

    Returns
    -------
    y : array, shape (n_batch, n_label)
        Logits.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Notes
    -----
    ``RobertaForSequenceClassification`` is this with ``dense.*``, without a norm, and with "tanh".
    """
    array_namespace(token_ids, segment_ids, params, mask, is_token)
    check_scopes(params, (*BACKBONE, "head."))
    backbone = backbone_of(params, add_prefix("head.", scope(params, "head.")))
    states, bert_pullback = bert(token_ids, segment_ids, backbone, config=config, mask=mask)
    pooled, pool_pullback = pooled_tokens(states[-1], pooling=pooling, is_token=is_token)
    y, head_pullback = classification_head(pooled, scope(params, "head."), activation=activation, eps=config.norm_eps)

    def pullback(dy):
        dpooled, dhead = head_pullback(dy)
        (dlast,) = pool_pullback(dpooled)
        (dbackbone,) = bert_pullback((*[None] * config.n_layer, dlast))
        dparams = {**dbackbone, **add_prefix("head.", dhead)}
        return (keyed_as(dparams, params),)

    return y, pullback


def bert_for_token_classification(token_ids, segment_ids, params, *, config, mask=None):
    """Sort every token into classes, such as the names of persons and places.

    Parameters
    ----------
    token_ids, segment_ids : array of int, shape (n_batch, n_seq)
        As for `bert`.
    params : dict of array
        Those of `bert`, and ``classifier.*`` (see `linear`).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `bert`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, n_label)
        Logits; for the loss see `cross_entropy`, which ignores the target -100.
    pullback : callable
        Maps dy to ``(dparams,)``.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 5.3 and figure 4 (d).
    """
    backbone = backbone_of(params, ["classifier.weight", "classifier.bias"])
    states, bert_pullback = bert(token_ids, segment_ids, backbone, config=config, mask=mask)
    y, classifier_pullback = linear(states[-1], scope(params, "classifier."))

    def pullback(dy):
        dlast, dclassifier = classifier_pullback(dy)
        (dbackbone,) = bert_pullback((*[None] * config.n_layer, dlast))
        dparams = {**dbackbone, **add_prefix("classifier.", dclassifier)}
        return (keyed_as(dparams, params),)

    return y, pullback


def bert_for_question_answering(token_ids, segment_ids, params, *, config, mask=None):
    """Find the answer to a question in a text: score every token as its first and as its last.

    Parameters
    ----------
    token_ids, segment_ids : array of int, shape (n_batch, n_seq)
        As for `bert`: the question is segment 0, the text segment 1.
    params : dict of array
        Those of `bert`, ``qa.weight`` (2, d_model) and ``qa.bias`` (2,).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `bert`.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq)
        Logits of the first token of the answer, and of the last.
    pullback : callable
        Maps ``(dstart, dend)`` to ``(dparams,)``.

    Notes
    -----
    The loss of `transformers` is the mean of the two cross-entropies.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 4.2.
    """
    xp = array_namespace(token_ids, segment_ids, params, mask)
    backbone = backbone_of(params, ["qa.weight", "qa.bias"])
    check_shape("qa.weight", params["qa.weight"], (2, None))
    states, bert_pullback = bert(token_ids, segment_ids, backbone, config=config, mask=mask)
    scores, qa_pullback = linear(states[-1], scope(params, "qa."))  # (n_batch, n_seq, 2)

    def pullback(dy):
        check_gradients(dy, (scores[..., 0],) * 2)
        dstart, dend = dy
        dlast, dqa = qa_pullback(xp.stack([dstart, dend], axis=-1))
        (dbackbone,) = bert_pullback((*[None] * config.n_layer, dlast))
        dparams = {**dbackbone, **add_prefix("qa.", dqa)}
        return (keyed_as(dparams, params),)

    return (scores[..., 0], scores[..., 1]), pullback


def bert_for_masked_lm(token_ids, segment_ids, params, *, config, mask=None):
    """Guess the masked tokens, without asking whether the second sentence follows the first.

    Parameters
    ----------
    token_ids, segment_ids : array of int, shape (n_batch, n_seq)
        As for `bert`.
    params : dict of array
        Those of `bert` and ``mlm.*`` (see `masked_token_head`; the decoder's weight is the token table).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `bert`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, vocab_size)
        Logits.
    pullback : callable
        Maps dy to ``(dparams,)``.

    References
    ----------
    Liu et al. (2019), "RoBERTa", arXiv:1907.11692, section 4.2, which found the next sentence of no use.
    """
    backbone = backbone_of(params, [f"mlm.{key}" for key in MLM_KEYS])
    states, bert_pullback = bert(token_ids, segment_ids, backbone, config=config, mask=mask)
    head_params = {**scope(params, "mlm."), "decoder.weight": params[TOKEN_TABLE]}
    bend = config.head_activation or config.activation
    y, mlm_pullback = masked_token_head(states[-1], head_params, activation=bend, eps=config.norm_eps)

    def pullback(dy):
        dlast, dmlm = mlm_pullback(dy)
        (dbackbone,) = bert_pullback((*[None] * config.n_layer, dlast))
        # The token table is used twice, at the bottom and, tied, at the top.
        tied = {TOKEN_TABLE: dbackbone[TOKEN_TABLE] + dmlm["decoder.weight"]}
        dparams = {**dbackbone, **tied, **add_prefix("mlm.", dmlm)}
        return (keyed_as(dparams, params),)

    return y, pullback
