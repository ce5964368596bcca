"""A decoder-only model: embeddings, a stack of causal blocks, and a norm at the end."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_boolean,
    check_floating,
    check_gradients,
    check_setting,
    check_shape,
    check_shapes,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.mask import causal_mask, padding_mask
from refimpl.attention.sparse.band import band_mask
from refimpl.blocks.causal_block import causal_block
from refimpl.blocks.encoder import add_gradients
from refimpl.models.decoder.attend import Attend
from refimpl.models.decoder.config import DecoderConfig, decoder_shapes
from refimpl.models.decoder.embed import embed

BACKBONE = ("embeddings.", "layers.", "norm.")


def decoder(token_ids, params, *, config, mask=None, position_ids=None):
    """Read sequences from left to right; every token comes to know those before it.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    params : dict of array
        ``embeddings.token.weight``, ``embeddings.norm.*`` where the configuration says so, ``layers.{i}.*`` (see
        `causal_block`) and ``norm.*``: `refimpl.models.decoder.config.decoder_shapes` lists them.
    config : DecoderConfig
        The sizes and parts.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding (``attention_mask == 0`` of Hugging Face), on whichever side.
    position_ids : array of int, shape (n_seq,) or (n_batch, n_seq), optional
        Where the tokens stand; by default counted from 0.

    Returns
    -------
    y : tuple of array
        The embedded sequences and what each layer returns, the last one normalised: n_layer + 1 arrays of shape
        (n_batch, n_seq, d_model), the ``hidden_states`` of Hugging Face.  Then what the feed-forward networks tell:
        of every mixture of experts the logits of its router, shape (n_batch, n_seq, n_expert).
    pullback : callable
        Maps a tuple of as many dy to ``(dparams,)``; any but that of the normalised state may be None (0).

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    TypeError
        If the ids are not integers, the mask is not boolean, or the parameters are not floating, of one dtype.

    References
    ----------
    Touvron et al. (2023), "LLaMA", arXiv:2302.13971, section 2.2.
    """
    array_namespace(token_ids, params, mask, position_ids)
    check_setting("config", config, isinstance(config, DecoderConfig), "a DecoderConfig")
    check_shapes(params, {key: shape for key, shape in decoder_shapes(config).items() if key.startswith(BACKBONE)})
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    seen = _who_sees_whom(token_ids, mask, config.window)
    attend = Attend({**config.attention_settings(), "mask": seen, "positions": position_ids})

    x, embed_pullback = embed(token_ids, scope(params, "embeddings."), config=config)
    states, told, pullbacks = [x], [], []
    for i, feed in enumerate(config.feeds):
        parts = {"norm": config.norm, "attend": attend, "feed": feed, "parallel": config.parallel}
        (state, *told_here), block_pullback = causal_block(states[-1], scope(params, f"layers.{i}."), **parts)
        states.append(state)
        told.append(told_here)
        pullbacks.append(block_pullback)
    normed, norm_pullback = config.norm(states[-1], scope(params, "norm."))
    returned = (*states[:-1], normed, *(array for told_here in told for array in told_here))

    def pullback(dy):
        check_gradients(dy, returned, none={*range(len(returned))} - {config.n_layer})
        dstates, dtold = dy[: config.n_layer], [*dy[config.n_layer + 1 :]]
        dstate, dnorm = norm_pullback(dy[config.n_layer])
        dlayers = {}
        for i, block_pullback in reversed([*enumerate(pullbacks)]):
            dtold_here = [dtold.pop() for _ in told[i]]
            dbefore, dlayer = block_pullback((dstate, *dtold_here))
            dstate = add_gradients(dbefore, dstates[i])
            dlayers = {**add_prefix(f"layers.{i}.", dlayer), **dlayers}
        (dembeddings,) = embed_pullback(dstate)
        dparams = merge(add_prefix("embeddings.", dembeddings), dlayers, add_prefix("norm.", dnorm))
        return (keyed_as(dparams, params),)

    return returned, pullback


def _who_sees_whom(token_ids, mask, window):
    n_batch, n_seq = token_ids.shape
    sizes = {"n_query": n_seq, "n_key": n_seq, "like": token_ids}
    seen = causal_mask(**sizes) if window is None else band_mask(**sizes, left=window - 1, right=0)
    if mask is None:
        return seen
    check_boolean(mask=mask)
    check_shape("mask", mask, (n_batch, n_seq))
    return seen[None, None] & padding_mask(mask)
