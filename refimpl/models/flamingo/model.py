"""Flamingo: between the blocks of a language model, gated ones look at the image that was shown last."""

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
    pick,
    scope,
)
from refimpl.attention.mask import causal_mask
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.encoder_block import pre_norm_block
from refimpl.blocks.gated_cross_block import gated_cross_block
from refimpl.blocks.perceiver import perceiver_resampler
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.models.flamingo.config import FlamingoConfig
from refimpl.positions.learned import learned_positions

SCOPES = ("resampler.", "token.", "position.", "norm.")
LATENTS = "resampler.latents"
TABLES = ("token.weight", "position.weight", LATENTS, "resampler.times.weight")


def flamingo(features, token_ids, params, *, config):
    """Score the next token of texts that have images between their words.

    Parameters
    ----------
    features : array, shape (n_batch, n_image, n_time, n_patch, d_visual)
        What a vision network made of the images of each text, in their order.
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size); ``config.image_id`` stands where an image is shown.
    params : dict of array
        ``resampler.*`` (see `perceiver_resampler`), ``token.weight`` (vocab_size, d_model), ``position.weight``
        (n_position, d_model), ``gated.{i}.*`` (see `gated_cross_block`) before every block i that has one,
        ``layers.{i}.*`` (see `pre_norm_block`) and ``norm.*`` (see `layer_norm`).
    config : FlamingoConfig
        The model's sizes and settings.

    Returns
    -------
    y : tuple of array
        The images as the language model sees them, shape (n_batch, n_image n_latent, d_visual); what each of its blocks
        returns, shape (n_batch, n_seq, d_model); and the logits, shape (n_batch, n_seq, vocab_size).
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dfeatures, dparams)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit, or a text shows more images than there are.

    Notes
    -----
    In the paper the language model and the vision network are trained before, and then frozen.  The head is tied to the
    table of tokens.

    References
    ----------
    Alayrac et al. (2022), "Flamingo", arXiv:2204.14198, section 2.
    """
    xp = array_namespace(features, token_ids, params)
    _check(features, token_ids, params, config)
    n_batch, n_image, *inside = features.shape
    resampled, resampler_pullback = perceiver_resampler(
        xp.reshape(features, (n_batch * n_image, *inside)), scope(params, "resampler."), n_layer=config.n_visual_layer,
        n_head=config.n_visual_head, eps=config.norm_eps,
    )  # fmt: skip
    shown = xp.reshape(resampled, (n_batch, n_image * config.n_latent, config.d_visual))
    tokens, token_pullback = embedding(token_ids, scope(params, "token."))
    embedded, position_pullback = learned_positions(tokens, scope(params, "position."))
    states, blocks_pullback = _blocks(embedded, shown, params, config, last_shown(token_ids, config, n_image=n_image))
    normed, norm_pullback = layer_norm(states[-1], scope(params, "norm."), eps=config.norm_eps)
    logits, head_pullback = linear(normed, {"weight": params["token.weight"]})

    def pullback(dy):
        check_gradients(dy, (shown, *states, logits), none=range(len(states) + 1))
        dshown_here, *dstates, dlogits = dy
        dnormed, dhead = head_pullback(dlogits)
        dlast, dnorm = norm_pullback(dnormed)
        dembedded, dshown, dblocks = blocks_pullback((*dstates[:-1], add_gradients(dstates[-1], dlast)))
        dtokens, dposition = position_pullback(dembedded)
        (dtoken,) = token_pullback(dtokens)
        dresampled = xp.reshape(add_gradients(dshown_here, dshown), resampled.shape)
        dimages, dresampler = resampler_pullback(dresampled)
        # The table is used twice, at the bottom and, tied, at the top.
        tied = {"weight": dtoken["weight"] + dhead["weight"]}
        dparts = zip(("resampler.", "token.", "position.", "norm."), (dresampler, tied, dposition, dnorm), strict=True)
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts), dblocks)
        return xp.reshape(dimages, features.shape), keyed_as(dparams, params)

    return (shown, *states, logits), pullback


def last_shown(token_ids, config, *, n_image):
    """Let every token look at the image that was shown last before it, or is shown by it.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    config : FlamingoConfig
        The model's sizes and settings.
    n_image : int
        The number of images.

    Returns
    -------
    array of bool, shape (n_batch, 1, n_seq, n_image * n_latent)
        True where a token looks; before the first image it looks at nothing.
    """
    xp = array_namespace(token_ids)
    n_shown = xp.cumsum((token_ids == config.image_id).astype(xp.int64), axis=1)
    seen = n_shown[:, :, None] == xp.arange(1, n_image + 1)  # (n_batch, n_seq, n_image)
    each = seen[:, :, :, None] & (xp.arange(config.n_latent) >= 0)
    return xp.reshape(each, (*token_ids.shape, n_image * config.n_latent))[:, None]


def _blocks(x, shown, params, config, looks):
    """Send texts through the blocks of the language model, and through a gated one before some of them."""
    causal = causal_mask(x.shape[1], x.shape[1], like=x)
    states, pullbacks = [x], []
    for i in range(config.n_layer):
        steps = []
        if i % config.every == 0:
            looked, gated_pullback = gated_cross_block(
                states[-1], shown, scope(params, f"gated.{i}."), n_head=config.n_head, eps=config.norm_eps,
                memory_mask=looks,
            )  # fmt: skip
            steps = [gated_pullback]
        state, block_pullback = pre_norm_block(
            looked if steps else states[-1], scope(params, f"layers.{i}."), n_head=config.n_head, activation="gelu",
            eps=config.norm_eps, mask=causal,
        )  # fmt: skip
        states.append(state)
        pullbacks.append((block_pullback, steps))

    def pullback(dy):
        dstate, dshown, dparams = None, None, {}
        for i in range(config.n_layer)[::-1]:
            block_pullback, steps = pullbacks[i]
            dstate, dblock = block_pullback(add_gradients(dstate, dy[i]))
            dparams = merge(add_prefix(f"layers.{i}.", dblock), dparams)
            for gated_pullback in steps:
                dstate, dshown_here, dgated = gated_pullback(dstate)
                dshown = add_gradients(dshown, dshown_here)
                dparams = merge(add_prefix(f"gated.{i}.", dgated), dparams)
        return dstate, dshown, dparams

    return tuple(states[1:]), pullback


def _check(features, token_ids, params, config):
    xp = array_namespace(token_ids)
    check_setting("config", config, isinstance(config, FlamingoConfig), "a FlamingoConfig")
    blocks = [f"layers.{i}." for i in range(config.n_layer)]
    gated = [f"gated.{i}." for i in range(0, config.n_layer, config.every)]
    check_scopes(params, (*SCOPES, *blocks, *gated))
    d = config.d_model
    d_visual = config.d_visual
    tables = ((config.vocab_size, d), (config.n_position, d), (config.n_latent, d_visual), (config.n_time, d_visual))
    check_shapes(pick(params, *TABLES), dict(zip(TABLES, tables, strict=True)))
    check_floating(features=features, params=params)
    check_tokens("token_ids", token_ids, config.vocab_size)
    check_shape("features", features, (token_ids.shape[0], None, None, None, config.d_visual))
    if 0 not in token_ids.shape:
        n_shown = int(xp.max(xp.sum((token_ids == config.image_id).astype(xp.int64), axis=1), axis=0))
        n_image = features.shape[1]
        check_setting("token_ids", n_shown, n_shown <= n_image, f"texts that show {n_image} images at most")
