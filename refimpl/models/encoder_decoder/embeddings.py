"""What goes into the Transformer: tokens, scaled, at their positions, and in Bart normalised."""

import math

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
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.positions.position_ids import FARTHEST
from refimpl.positions.sinusoidal import sinusoidal_positions


def embedded_tokens(token_ids, params, *, config, position_ids=None):
    """Look up the tokens, and say where each stands.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    params : dict of array
        ``token.weight`` (vocab_size, d_model); ``position.weight`` (n_position + position_offset, d_model), where
        positions are learned; ``embedding_norm.weight`` and ``embedding_norm.bias`` (d_model,), where there is one.
    config : EncoderDecoderConfig
        The model's sizes and settings.
    position_ids : array of int, shape (n_batch, n_seq), optional
        Where each token stands, from 0; by default its place in the row, padding or not, as in `transformers`.

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
    The row of ``config.pad_id`` gets no gradient here, as in `transformers`.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, sections 3.4 and 3.5.
    """
    xp = array_namespace(token_ids, params, position_ids)
    check_setting("config", config, isinstance(config, EncoderDecoderConfig), "an EncoderDecoderConfig")
    check_shapes(params, _shapes(config))
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    check_ids("token_ids", token_ids, config.vocab_size)
    ids = xp.zeros_like(token_ids) + xp.arange(token_ids.shape[1]) if position_ids is None else position_ids
    check_shape("position_ids", ids, token_ids.shape)
    check_ids("position_ids", ids, config.n_position if config.positions == "learned" else FARTHEST)
    place = _learned if config.positions == "learned" else _sinusoidal
    norm = layer_norm if config.embedding_norm else _unchanged
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    tokens, token_pullback = embedding(token_ids, scope(params, "token."), padding_id=config.pad_id)
    placed, position_pullback = place(tokens * scale, scope(params, "position."), ids, config)
    y, norm_pullback = norm(placed, scope(params, "embedding_norm."), eps=config.norm_eps)

    def pullback(dy):
        dplaced, dnorm = norm_pullback(dy)
        dtokens, dposition = position_pullback(dplaced)
        (dtoken,) = token_pullback(dtokens * scale)
        dothers = merge(add_prefix("position.", dposition), add_prefix("embedding_norm.", dnorm))
        dparams = merge(add_prefix("token.", dtoken), dothers)
        return (keyed_as(dparams, params),)

    return y, pullback


def _shapes(config):
    d = config.d_model
    learned = {"position.weight": (config.n_position + config.position_offset, d)}
    normed = {"embedding_norm.weight": (d,), "embedding_norm.bias": (d,)}
    return {
        "token.weight": (config.vocab_size, d),
        **(learned if config.positions == "learned" else {}),
        **(normed if config.embedding_norm else {}),
    }


def _learned(x, params, position_ids, config):
    positions, position_pullback = embedding(position_ids + config.position_offset, params)

    def pullback(dy):
        return dy, *position_pullback(dy)

    return x + positions, pullback


def _sinusoidal(x, params, position_ids, config):
    y, sinusoidal_pullback = sinusoidal_positions(x, positions=position_ids, layout=config.positions)

    def pullback(dy):
        return *sinusoidal_pullback(dy), {}

    return y, pullback


def _unchanged(x, params, *, eps):
    def pullback(dy):
        return dy, {}

    return x, pullback
