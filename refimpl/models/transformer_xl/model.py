"""Transformer-XL: blocks over a segment and a memory of the segments before it (Dai et al. 2019)."""

import math

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    cast,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_shape,
    keyed_as,
    merge,
    scope,
    table_dtype,
)
from refimpl.attention.mask import check_mask
from refimpl.attention.sparse.band import band_mask
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.relative.block import relative_post_norm_block, relative_pre_norm_block
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.blocks.relative.stack import relative_stack
from refimpl.layers.adaptive_embedding import adaptive_embedding
from refimpl.models.transformer_xl.config import TransformerXLConfig
from refimpl.positions.sinusoidal import sinusoidal_positions

BACKBONE = ("embedding.", "layers.", "r_w_bias", "r_r_bias")


def transformer_xl(token_ids, memory, params, *, config, mask=None):
    """Read a segment of a text, knowing what is remembered of the segments before it.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    memory : array, shape (n_layer, n_batch, n_before, d_model)
        What went into every block for the positions before the segment; n_before may be 0.
    params : dict of array
        ``embedding.*`` (see `adaptive_embedding`), ``layers.{i}.*`` (see `relative_post_norm_block`), and, where the
        blocks share them, ``r_w_bias`` and ``r_r_bias``, which the blocks then lack.
    config : TransformerXLConfig
        The model's sizes and settings.
    mask : array of bool, broadcasts to (n_batch, n_head, n_seq, n_before + n_seq), optional
        True where a query attends to a key, besides the causal mask, which always applies.

    Returns
    -------
    y : tuple of array
        The embedded segment and what each block returns, of shape (n_batch, n_seq, d_model), as ``hidden_states`` of
        `transformers`; and the memory for the next segment, of shape (n_layer, n_batch, at most n_memory, d_model).
    pullback : callable
        Maps a tuple of as many dy, of which any but that of the last state may be None (0), to
        ``(dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    TypeError
        If the arrays are not floating, of one dtype and of one library.

    Notes
    -----
    Training stops at the memory: give None for its dy, and drop dmemory.  Who hands dmemory on to the segment before
    has the gradient of the whole text.  Without a memory `transformers` begins with zeros, which are attended to.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 3.2 (the memory) and 3.3 (the positions).
    """
    xp = array_namespace(token_ids, memory, params, mask)
    _check(token_ids, memory, params, config, mask)
    looked_up, embedding_pullback = adaptive_embedding(
        token_ids, scope(params, "embedding."), cutoffs=config.table_cutoffs
    )
    scale = math.sqrt(config.d_model)
    n_row = sum(table.shape[0] for key, table in params.items() if key.startswith("embedding.tables."))
    check_setting("rows of embedding.tables", n_row, n_row == config.vocab_size, f"vocab_size = {config.vocab_size}")
    embedded = looked_up * scale
    states, stack_pullback = relative_stack(
        embedded,
        memory,
        _distances(memory.shape[2] + token_ids.shape[1], config, like=embedded),
        {key: value for key, value in params.items() if not key.startswith("embedding.")},
        n_layer=config.n_layer,
        block=relative_pre_norm_block if config.pre_norm else relative_post_norm_block,
        n_head=config.n_head,
        eps=config.norm_eps,
        mask=_seen(token_ids.shape[1], memory.shape[2], config, mask, like=embedded),
    )
    remembered, memory_pullback = segment_memory(
        memory, xp.stack([embedded, *states[:-1]], axis=0), n_memory=config.n_memory
    )
    returned = (embedded, *states, remembered)

    def pullback(dy):
        check_gradients(dy, returned, none={*range(len(returned))} - {config.n_layer})
        *dstates, dremembered = dy
        dkept, dinputs = (None, [None] * config.n_layer) if dremembered is None else memory_pullback(dremembered)
        dembedded_here, *dinner = [_sum(d, dinput) for d, dinput in zip(dstates[:-1], dinputs, strict=True)]
        dembedded, dseen, _, dstack = stack_pullback((*dinner, dstates[-1]))
        (dembedding,) = embedding_pullback(add_gradients(dembedded_here, dembedded) * scale)
        dparams = merge(add_prefix("embedding.", dembedding), dstack)
        return add_gradients(dkept, dseen), keyed_as(dparams, params)

    return returned, pullback


def _sum(*gradients):
    return None if all(gradient is None for gradient in gradients) else add_gradients(*gradients)


def _distances(n_key, config, *, like):
    """Encode how far back every key lies, farthest first."""
    xp = array_namespace(like)
    distance = xp.arange(n_key)[::-1]
    clamped = xp.where(distance > config.clamp_len, config.clamp_len, distance) if config.clamp_len else distance
    blank = xp.zeros((n_key, config.d_model), dtype=table_dtype(like))
    encoded, _ = sinusoidal_positions(blank, positions=clamped, layout="concatenated")
    return cast(encoded, like.dtype)


def _seen(n_seq, n_before, config, mask, *, like):
    """With `same_length` every query sees as many keys, itself counted, as the memory has places."""
    if not config.same_length:
        return mask
    window = band_mask(n_seq, n_before + n_seq, left=config.n_memory - 1, right=0, like=like)
    return window if mask is None else window & mask


def _check(token_ids, memory, params, config, mask):
    check_setting("config", config, isinstance(config, TransformerXLConfig), "a TransformerXLConfig")
    check_scopes(params, BACKBONE)
    check_floating(memory=memory, params=params)
    check_shape("token_ids", token_ids, (None, None))
    n_batch, n_seq = token_ids.shape
    check_shape("memory", memory, (config.n_layer, n_batch, None, config.d_model))
    check_mask(mask, (n_batch, config.n_head, n_seq, memory.shape[2] + n_seq))
