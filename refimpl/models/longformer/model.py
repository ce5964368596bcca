"""Longformer: a stack of blocks whose cost grows with the length of a text, not with its square."""

from functools import partial

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_tokens,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.mask import padding_mask
from refimpl.blocks.encoder import add_gradients, stack
from refimpl.blocks.longformer_block import longformer_block
from refimpl.models.longformer.config import LongformerConfig
from refimpl.models.longformer.embeddings import longformer_embeddings

PARTS = ("embeddings.", "encoder.")


def longformer(token_ids, segment_ids, global_ids, params, *, config, mask=None):
    """Read long texts: every token sees its neighbours and the global tokens, which see all.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    segment_ids : array of int, shape (n_batch, n_seq)
        Segments (``token_type_ids``), in [0, config.n_segment).
    global_ids : array of int, shape (n_batch, n_global)
        The positions of the global tokens; n_seq stands for none, where a text has fewer than others.
    params : dict of array
        ``embeddings.*`` (see `longformer_embeddings`) and ``encoder.layers.{i}.*`` (see `longformer_block`).
    config : LongformerConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        The embedded texts and what each block returns: ``hidden_states`` of `transformers`.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    Notes
    -----
    `transformers` pads every text to a multiple of the largest window and cuts the padding off again.  Here a text may
    have any length.

    References
    ----------
    Beltagy, Peters, Cohan (2020), "Longformer", arXiv:2004.05150, section 3.
    """
    array_namespace(token_ids, segment_ids, global_ids, params, mask)
    check_setting("config", config, isinstance(config, LongformerConfig), "a LongformerConfig")
    check_scopes(params, PARTS)
    check_floating(params=params)
    check_tokens("token_ids", token_ids, config.vocab_size, mask=mask)
    embedded, embeddings_pullback = longformer_embeddings(
        token_ids, segment_ids, scope(params, "embeddings."), config=config
    )
    states, encoder_pullback = stack(
        embedded, (), scope(params, "encoder."), n_layer=config.n_layer, n_head=config.n_head,
        block=[_among(global_ids, reach) for reach in config.reaches], activation=config.activation,
        eps=config.norm_eps, mask=None if mask is None else padding_mask(mask),
    )  # fmt: skip

    def pullback(dy):
        check_gradients(dy, (embedded, *states), none=range(config.n_layer))
        dembedded, _, dencoder = encoder_pullback(dy[1:])
        (dembeddings,) = embeddings_pullback(add_gradients(dy[0], dembedded))
        dparams = merge(add_prefix("embeddings.", dembeddings), add_prefix("encoder.", dencoder))
        return (keyed_as(dparams, params),)

    return (embedded, *states), pullback


def _among(global_ids, reach):
    return partial(_block, global_ids=global_ids, reach=reach)


def _block(x, params, *, global_ids, reach, **settings):
    return longformer_block(x, global_ids, params, reach=reach, **settings)
