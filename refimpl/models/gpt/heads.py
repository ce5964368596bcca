"""What a GPT is trained and used for: the next token of every text, and the class of a whole one."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_scopes,
    check_setting,
    check_shapes,
    keyed_as,
    scatter_add,
)
from refimpl.layers.linear import linear
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.model import BACKBONE, check_text, gpt

TOKEN_TABLE = "token.weight"
HEAD = "head.weight"
CLASSIFIER = "classifier.weight"


def gpt_lm(token_ids, params, *, config, mask=None, position_ids=None):
    """Score every token of the vocabulary as the next one, at every position.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    params : dict of array
        Those of `gpt`, and ``head.weight`` (vocab_size, d_model) where it is not ``config.tied`` to the token table.
    config : GptConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `gpt`.
    position_ids : array of int, optional
        As for `gpt`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, vocab_size)
        Logits.
    pullback : callable
        Maps dy to ``(dparams,)``.

    References
    ----------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", eq. 2; Press, Wolf (2017),
    "Using the Output Embedding to Improve Language Models", arXiv:1608.05859.
    """
    check_setting("config", config, isinstance(config, GptConfig), "a GptConfig")
    backbone = _backbone(params, {} if config.tied else {HEAD: (config.vocab_size, config.d_model)})
    states, gpt_pullback = gpt(token_ids, backbone, config=config, mask=mask, position_ids=position_ids)
    y, head_pullback = linear(states[-1], {"weight": params[TOKEN_TABLE if config.tied else HEAD]})

    def pullback(dy):
        dlast, dhead = head_pullback(dy)
        (dbackbone,) = gpt_pullback((*[None] * config.n_layer, dlast))
        # A tied table is used twice, at the bottom and at the top.
        dtable = dbackbone[TOKEN_TABLE] + dhead["weight"] if config.tied else dbackbone[TOKEN_TABLE]
        dparams = {**dbackbone, TOKEN_TABLE: dtable, HEAD: dhead["weight"]}
        return (keyed_as(dparams, params),)

    return y, pullback


def gpt_for_sequence_classification(token_ids, params, *, config, mask=None, position_ids=None):
    """Sort whole texts into classes, by what their last token has come to know.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    params : dict of array
        Those of `gpt`, and ``classifier.weight`` (n_label, d_model).
    config : GptConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `gpt`.
    position_ids : array of int, optional
        As for `gpt`.

    Returns
    -------
    y : array, shape (n_batch, n_label)
        Logits.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Notes
    -----
    `transformers` looks for the last token that is not ``pad_token_id``, whatever the mask says; a text that holds
    that token is cut short there.

    References
    ----------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", eq. 3.
    """
    xp = array_namespace(token_ids, params, mask, position_ids)
    check_setting("config", config, isinstance(config, GptConfig), "a GptConfig")
    backbone = _backbone(params, {CLASSIFIER: (config.n_label, config.d_model)})
    states, gpt_pullback = gpt(token_ids, backbone, config=config, mask=mask, position_ids=position_ids)
    n_batch, n_seq, d_model = states[-1].shape
    chosen = xp.arange(n_batch) * n_seq + last_tokens(token_ids, mask=mask)
    last = xp.reshape(states[-1], (n_batch * n_seq, d_model))[chosen]  # (n_batch, d_model)
    y, classifier_pullback = linear(last, {"weight": params[CLASSIFIER]})

    def pullback(dy):
        dlast, dclassifier = classifier_pullback(dy)
        dstate = xp.reshape(scatter_add(chosen, dlast, n_batch * n_seq), (n_batch, n_seq, d_model))
        (dbackbone,) = gpt_pullback((*[None] * config.n_layer, dstate))
        dparams = {**dbackbone, **add_prefix("classifier.", dclassifier)}
        return (keyed_as(dparams, params),)

    return y, pullback


def last_tokens(token_ids, *, mask=None):
    """Find the last token of every row, whichever side is padded.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding.

    Returns
    -------
    array of int, shape (n_batch,)
        Its place in the row; 0 where a row has no token.
    """
    xp = array_namespace(token_ids, mask)
    check_text(token_ids, mask)
    places = xp.zeros_like(token_ids) + xp.arange(token_ids.shape[1])
    return xp.max(places if mask is None else xp.where(mask, places, 0), axis=1)


def _backbone(params, head_shapes):
    check_scopes(params, (*BACKBONE, *head_shapes))
    backbone = {key: value for key, value in params.items() if key.startswith(BACKBONE)}
    check_shapes({key: value for key, value in params.items() if key not in backbone}, head_shapes)
    return backbone
