"""BERT: token, segment and position embeddings, and a stack of encoder blocks (Devlin et al. 2018)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_shape,
    check_shapes,
    keyed_as,
    merge,
    scope,
)
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.project import project
from refimpl.models.bert.config import BertConfig
from refimpl.positions.learned import learned_positions
from refimpl.positions.token_positions import positions_after_padding

BACKBONE = ("embeddings.", "encoder.")
EMBEDDING_KEYS = ("token.weight", "position.weight", "norm.weight", "norm.bias")
SEGMENT_KEYS = ("segment.weight",)
PROJECTION_KEYS = ("projection.weight", "projection.bias")


def bert_embeddings(token_ids, segment_ids, params, *, config):
    """Add up what a token, its segment and its position say, and normalise.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    segment_ids : array of int, shape (n_batch, n_seq), or None
        Segments (``token_type_ids``), in [0, config.n_segment); None where there are none.
    params : dict of array
        ``token.weight``, ``segment.weight``, ``position.weight``, ``norm.weight``, ``norm.bias``; without segments
        where ``config.n_segment`` is 0, and with ``projection.*`` (see `linear`) where ``config.d_embed`` is not.
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
    The row of ``config.pad_id`` gets no gradient, as in `transformers`; neither does the position of padding, where it
    has one of its own (``config.positions_after_padding``).

    References
    ----------
    Devlin et al. (2018), "BERT", arXiv:1810.04805, figure 2.
    """
    array_namespace(token_ids, segment_ids, params)
    _check(token_ids, segment_ids, params, config)
    tokens, token_pullback = embedding(token_ids, scope(params, "token."), padding_id=config.pad_id)
    told, segment_pullback = _plus_segments(tokens, segment_ids, scope(params, "segment."))
    placed, position_pullback = _plus_positions(told, token_ids, scope(params, "position."), config)
    normed, norm_pullback = layer_norm(placed, scope(params, "norm."), eps=config.norm_eps)
    y, projection_pullback = project(normed, scope(params, "projection."))

    def pullback(dy):
        dnormed, dprojection = projection_pullback(dy)
        dplaced, dnorm = norm_pullback(dnormed)
        dtold, dposition = position_pullback(dplaced)
        dtokens, dsegment = segment_pullback(dtold)
        (dtoken,) = token_pullback(dtokens)
        dparams = merge(
            add_prefix("token.", dtoken),
            add_prefix("segment.", dsegment),
            add_prefix("position.", dposition),
            add_prefix("norm.", dnorm),
            add_prefix("projection.", dprojection),
        )
        return (keyed_as(dparams, params),)

    return y, pullback


def _plus_segments(x, segment_ids, params):
    return _plus_rows(x, segment_ids, params) if params else project(x, {})


def _plus_positions(x, token_ids, params, config):
    if not config.positions_after_padding:
        return learned_positions(x, params)
    places = positions_after_padding(token_ids != config.pad_id, pad_id=config.pad_id)
    return _plus_rows(x, places, params, padding_id=config.pad_id)


def _plus_rows(x, ids, params, padding_id=None):
    rows, rows_pullback = embedding(ids, params, padding_id=padding_id)
    y = x + rows

    def pullback(dy):
        (dparams,) = rows_pullback(dy)
        return dy, dparams

    return y, pullback


def bert(token_ids, segment_ids, params, *, config, mask=None):
    """Read sentences in both directions at once; every token comes to know its context.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    segment_ids : array of int, shape (n_batch, n_seq), or None
        Segments (``token_type_ids``), in [0, config.n_segment); None where there are none.
    params : dict of array
        ``embeddings.*`` (see `bert_embeddings`) and ``encoder.layers.{i}.*`` (see `post_norm_block`), of as many
        blocks as ``config.n_block`` says.
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
        _of_layers(scope(params, "encoder."), config),
        n_layer=config.n_layer,
        n_head=config.n_head,
        activation=config.activation,
        eps=config.norm_eps,
        mask=mask,
    )

    def pullback(dy):
        check_gradients(dy, (embedded, *states), none=range(config.n_layer))
        dembedded_here, *dstates = dy
        dembedded, dencoder = encoder_pullback(tuple(dstates))
        (dembeddings,) = embeddings_pullback(add_gradients(dembedded_here, dembedded))
        dblocks = _of_blocks(dencoder, config)
        dparams = merge(add_prefix("embeddings.", dembeddings), add_prefix("encoder.", dblocks))
        return (keyed_as(dparams, params),)

    return (embedded, *states), pullback


def _of_layers(params, config):
    """Give every layer the parameters of its block."""
    n_block = config.n_block or config.n_layer
    check_scopes(params, [f"layers.{i}." for i in range(n_block)])
    return {
        f"layers.{i}.{key}": x
        for i in range(config.n_layer)
        for key, x in scope(params, f"layers.{config.block_of(i)}.").items()
    }


def _of_blocks(dparams, config):
    """Add up what the layers of each block receive."""
    total = {}
    for i in range(config.n_layer):
        dblock = add_prefix(f"layers.{config.block_of(i)}.", scope(dparams, f"layers.{i}."))
        total = {**total, **{key: add_gradients(total.get(key), d) for key, d in dblock.items()}}
    return total


def _embedding_shapes(config):
    width = config.d_embed or config.d_model
    tables = ((config.vocab_size, width), (config.n_position, width), (width,), (width,))
    segments = ((config.n_segment, width),) if config.n_segment else ()
    projection = ((config.d_model, width), (config.d_model,)) if config.d_embed else ()
    return {
        **dict(zip(EMBEDDING_KEYS, tables, strict=True)),
        **dict(zip(SEGMENT_KEYS, segments, strict=False)),
        **dict(zip(PROJECTION_KEYS, projection, strict=False)),
    }


def _check(token_ids, segment_ids, params, config):
    check_setting("config", config, isinstance(config, BertConfig), "a BertConfig")
    check_shapes(params, _embedding_shapes(config))
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    if config.n_segment:
        check_shape("segment_ids", segment_ids, token_ids.shape)
    else:
        check_setting("segment_ids", segment_ids, segment_ids is None, "None: this model knows no segments")
