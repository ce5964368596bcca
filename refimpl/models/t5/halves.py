"""The two halves of T5: what reads, and what writes and asks what was read."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_shape,
    check_shapes,
    check_tokens,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.mask import causal_mask, padding_mask
from refimpl.blocks.encoder import add_gradients, stack
from refimpl.blocks.t5_block import t5_decoder_block, t5_encoder_block
from refimpl.layers.embedding import embedding
from refimpl.layers.rms_norm import rms_norm
from refimpl.models.t5.config import T5Config
from refimpl.positions.bucketed import bucketed_bias

TABLE = "embedding.weight"
DISTANCES = "distances.weight"
PARTS = ("embedding.", "distances.", "layers.", "norm.")


def t5_encoder(token_ids, params, *, config, mask=None):
    """Read texts in both directions.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        What is read, in [0, config.vocab_size).
    params : dict of array
        ``embedding.weight`` (vocab_size, d_model), ``distances.weight`` (n_bucket, n_head; see `bucketed_bias`),
        ``layers.{i}.*`` (see `t5_encoder_block`) and ``norm.weight`` (see `rms_norm`).
    config : T5Config
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        The embedded texts and what each block returns, the last one normalised.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    array_namespace(token_ids, params, mask)
    _check(token_ids, params, config, mask)
    embedded, embedding_pullback = embedding(token_ids, scope(params, "embedding."))
    bias, bias_pullback = _bias(token_ids, params, config, bidirectional=True)
    states, stack_pullback = stack(
        embedded, (bias,), blocks_of(params), n_layer=config.n_layer, block=t5_encoder_block, norm=rms_norm,
        mask=None if mask is None else padding_mask(mask), **block_settings(config),
    )  # fmt: skip

    def pullback(dy):
        check_gradients(dy, (embedded, *states), none=range(config.n_layer))
        dembedded, (dbias,), dblocks = stack_pullback(dy[1:])
        (ddistances,) = bias_pullback(dbias)
        (dtable,) = embedding_pullback(add_gradients(dy[0], dembedded))
        dparams = merge(add_prefix("embedding.", dtable), add_prefix("distances.", ddistances), dblocks)
        return (keyed_as(dparams, params),)

    return (embedded, *states), pullback


def t5_decoder(token_ids, memory, params, *, config, mask=None, memory_mask=None):
    """Write texts from left to right, while asking what was read.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_target)
        What is written, in [0, config.vocab_size).
    memory : array, shape (n_batch, n_source, d_model)
        The last state of the encoder.
    params : dict of array
        As for `t5_encoder`; ``layers.{i}.*`` are those of `t5_decoder_block`.
    config : T5Config
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_target), optional
        True for tokens of the target, False for padding.
    memory_mask : array of bool, shape (n_batch, n_source), optional
        The same for the source.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_target, d_model)
        The embedded texts and what each block returns, the last one normalised.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    array_namespace(token_ids, memory, params, mask, memory_mask)
    _check(token_ids, params, config, mask)
    check_shape("memory", memory, (token_ids.shape[0], None, config.d_model))
    earlier = causal_mask(token_ids.shape[1], token_ids.shape[1], like=token_ids)
    embedded, embedding_pullback = embedding(token_ids, scope(params, "embedding."))
    bias, bias_pullback = _bias(token_ids, params, config, bidirectional=False)
    states, stack_pullback = stack(
        embedded, (memory, bias), blocks_of(params), n_layer=config.n_decoder_layer, block=t5_decoder_block,
        norm=rms_norm, mask=earlier if mask is None else earlier & padding_mask(mask),
        memory_mask=None if memory_mask is None else padding_mask(memory_mask), **block_settings(config),
    )  # fmt: skip

    def pullback(dy):
        check_gradients(dy, (embedded, *states), none=range(config.n_decoder_layer))
        dembedded, (dmemory, dbias), dblocks = stack_pullback(dy[1:])
        (ddistances,) = bias_pullback(dbias)
        (dtable,) = embedding_pullback(add_gradients(dy[0], dembedded))
        dparams = merge(add_prefix("embedding.", dtable), add_prefix("distances.", ddistances), dblocks)
        return dmemory, keyed_as(dparams, params)

    return (embedded, *states), pullback


def blocks_of(params):
    """Select the parameters of the blocks and of the norm behind them.

    Parameters
    ----------
    params : dict of array
        As for `t5_encoder` or `t5_decoder`.

    Returns
    -------
    dict of array
        Those of `stack`.
    """
    return {key: value for key, value in params.items() if key.startswith(PARTS[2:])}


def block_settings(config):
    """List the settings of the blocks that a configuration settles.

    Parameters
    ----------
    config : T5Config
        The model's sizes and settings.

    Returns
    -------
    dict
        Keyword arguments.
    """
    return {
        "n_head": config.n_head, "activation": config.activation, "gated": config.gated, "eps": config.norm_eps,
    }  # fmt: skip


def _bias(token_ids, params, config, *, bidirectional):
    n_seq = token_ids.shape[1]
    return bucketed_bias(
        scope(params, "distances."), n_query=n_seq, n_key=n_seq, max_distance=config.max_distance,
        bidirectional=bidirectional,
    )  # fmt: skip


def _check(token_ids, params, config, mask):
    check_setting("config", config, isinstance(config, T5Config), "a T5Config")
    check_scopes(params, PARTS)
    shapes = {TABLE: (config.vocab_size, config.d_model), DISTANCES: (config.n_bucket, config.n_head)}
    check_shapes({key: params[key] for key in params if not key.startswith(PARTS[2:])}, shapes)
    check_floating(params=params)
    check_tokens("token_ids", token_ids, config.vocab_size, mask=mask)
