"""BERT: token, segment and position embeddings, and a stack of encoder blocks (Devlin et al. 2018)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_scopes,
    check_setting,
    check_shape,
    merge,
    scope,
)
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.models.bert_config import BertConfig
from refimpl.positions.learned import learned_positions

BACKBONE = ("embeddings.", "encoder.")
EMBEDDING_KEYS = ("token.weight", "segment.weight", "position.weight", "norm.weight", "norm.bias")


def bert_embeddings(token_ids, segment_ids, params, *, config):
    """Add up what a token, its segment and its position say, and normalise.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    segment_ids : array of int, shape (n_batch, n_seq)
        Segments (``token_type_ids``), in [0, config.n_segment).
    params : dict of array
        ``token.weight``, ``segment.weight``, ``position.weight``, ``norm.weight``, ``norm.bias``.
    config : BertConfig
        The model's sizes and settings.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The embedded sequences.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If an id is out of range, a sequence longer than the learned positions, or a parameter name does not fit.

    Notes
    -----
    The row of ``config.pad_id`` gets no gradient, as in `transformers`.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, figure 2.
    """
    array_namespace(token_ids, segment_ids, params)
    check_params(params, EMBEDDING_KEYS)
    check_setting("config", config, isinstance(config, BertConfig), "a BertConfig")
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    check_shape("segment_ids", segment_ids, token_ids.shape)
    tokens, token_pullback = embedding(token_ids, scope(params, "token."), padding_id=config.pad_id)
    segments, segment_pullback = embedding(segment_ids, scope(params, "segment."))
    placed, position_pullback = learned_positions(tokens + segments, scope(params, "position."))
    y, norm_pullback = layer_norm(placed, scope(params, "norm."), eps=config.norm_eps)

    def pullback(dy):
        dplaced, dnorm = norm_pullback(dy)
        dsum, dposition = position_pullback(dplaced)
        (dsegment,) = segment_pullback(dsum)
        (dtoken,) = token_pullback(dsum)
        dparams = merge(
            add_prefix("token.", dtoken),
            add_prefix("segment.", dsegment),
            add_prefix("position.", dposition),
            add_prefix("norm.", dnorm),
        )
        return ({key: dparams[key] for key in params},)

    return y, pullback


def bert(token_ids, segment_ids, params, *, config, mask=None):
    """Read sentences in both directions at once; every token comes to know its context.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    segment_ids : array of int, shape (n_batch, n_seq)
        Segments (``token_type_ids``), in [0, config.n_segment).
    params : dict of array
        ``embeddings.*`` (see `bert_embeddings`) and ``encoder.layers.{i}.*`` (see `post_norm_block`).
    config : BertConfig
        The model's sizes and settings.
    mask : array of bool, broadcasts to (n_batch, n_head, n_seq, n_seq), optional
        True where a position attends; `refimpl.attention.mask.padding_mask` makes one.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        The embedded sequences and what each block returns: ``hidden_states`` of `transformers`.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, section 3.
    """
    array_namespace(token_ids, segment_ids, params, mask)
    check_scopes(params, BACKBONE)
    check_floating(params=params)
    embedded, embeddings_pullback = bert_embeddings(
        token_ids, segment_ids, scope(params, "embeddings."), config=config
    )
    states, encoder_pullback = encoder(
        embedded,
        scope(params, "encoder."),
        n_layer=config.n_layer,
        n_head=config.n_head,
        activation=config.activation,
        eps=config.norm_eps,
        mask=mask,
    )

    def pullback(dy):
        dembedded_here, *dstates = dy
        dembedded, dencoder = encoder_pullback(tuple(dstates))
        (dembeddings,) = embeddings_pullback(add_gradients(dembedded_here, dembedded))
        dparams = merge(add_prefix("embeddings.", dembeddings), add_prefix("encoder.", dencoder))
        return ({key: dparams[key] for key in params},)

    return (embedded, *states), pullback
