"""What goes into a Longformer: tokens, segments and positions, which are counted among the tokens of a text."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_ids,
    check_setting,
    check_shape,
    check_shapes,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.models.longformer.config import LongformerConfig

KEYS = ("token.weight", "segment.weight", "position.weight", "norm.weight", "norm.bias")


def longformer_embeddings(token_ids, segment_ids, params, *, config):
    """Add up what a token, its segment and its position say, and normalise.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    segment_ids : array of int, shape (n_batch, n_seq)
        Segments (``token_type_ids``), in [0, config.n_segment).
    params : dict of array
        ``token.weight`` (vocab_size, d_model), ``segment.weight`` (n_segment, d_model), ``position.weight``
        (n_position, d_model), ``norm.weight`` and ``norm.bias`` (d_model,).
    config : LongformerConfig
        The model's sizes and settings.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The embedded texts.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If an id is out of range, a text longer than the learned positions, or a parameter name does not fit.

    Notes
    -----
    As in RoBERTa, positions are counted among the tokens that are not ``config.pad_id``, from ``pad_id + 1`` on;
    padding has position ``pad_id``.  Neither its token nor its position is trained.

    References
    ----------
    Liu et al. (2019), "RoBERTa", arXiv:1907.11692 (and `fairseq`, which counts so).
    """
    xp = array_namespace(token_ids, segment_ids, params)
    check_setting("config", config, isinstance(config, LongformerConfig), "a LongformerConfig")
    d = config.d_model
    sizes = (config.vocab_size, config.n_segment, config.n_position)
    check_shapes(params, dict(zip(KEYS, (*((size, d) for size in sizes), (d,), (d,)), strict=True)))
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    check_shape("segment_ids", segment_ids, token_ids.shape)
    check_ids("token_ids", token_ids, config.vocab_size)
    check_ids("segment_ids", segment_ids, config.n_segment)
    is_token = (token_ids != config.pad_id).astype(xp.int64)
    position_ids = xp.cumsum(is_token, axis=1) * is_token + config.pad_id
    check_ids("position_ids", position_ids, config.n_position)
    tokens, token_pullback = embedding(token_ids, scope(params, "token."), padding_id=config.pad_id)
    segments, segment_pullback = embedding(segment_ids, scope(params, "segment."))
    positions, position_pullback = embedding(position_ids, scope(params, "position."), padding_id=config.pad_id)
    y, norm_pullback = layer_norm(tokens + segments + positions, scope(params, "norm."), eps=config.norm_eps)

    def pullback(dy):
        dsum, dnorm = norm_pullback(dy)
        (dposition,) = position_pullback(dsum)
        (dsegment,) = segment_pullback(dsum)
        (dtoken,) = token_pullback(dsum)
        dparts = {"token.": dtoken, "segment.": dsegment, "position.": dposition, "norm.": dnorm}
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts.items()))
        return (keyed_as(dparams, params),)

    return y, pullback
