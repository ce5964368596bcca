"""CLIP's encoder of texts, a causal Transformer: what it makes of a text is one vector."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_shapes,
    check_tokens,
    keyed_as,
    merge,
    pick,
    scatter_add,
    scope,
)
from refimpl.attention.mask import causal_mask, padding_mask
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.blocks.encoder_block import pre_norm_block
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.models.clip.config import ClipConfig
from refimpl.models.clip.image import blocks_of, settings_of
from refimpl.positions.learned import learned_positions

SCOPES = ("token.", "position.", "norm.", "projection.")
PARTS = (*SCOPES, "layers.")
KEYS = ("token.weight", "position.weight", "projection.weight")


def clip_text(token_ids, params, *, config, mask=None):
    """Read texts from left to right; what their last token has come to know stands for the whole.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size), one of them ``config.eos_id``.
    params : dict of array
        ``token.weight`` (vocab_size, d_model), ``position.weight`` (n_position, d_model), ``layers.{i}.*`` (see
        `pre_norm_block`), ``norm.*`` (see `layer_norm`) and ``projection.weight`` (d_shared, d_model).
    config : ClipConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding.

    Returns
    -------
    y : tuple of array
        The embedded texts and what each block makes of them, shape (n_batch, n_seq, d_model) each, and the vectors of
        the texts, shape (n_batch, d_shared).
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Radford et al. (2021), arXiv:2103.00020, section 2.4.
    """
    xp = array_namespace(token_ids, params, mask)
    check_setting("config", config, isinstance(config, ClipConfig), "a ClipConfig")
    check_scopes(params, PARTS)
    sizes = (config.vocab_size, config.n_position, config.d_shared)
    check_shapes(pick(params, *KEYS), {key: (n, config.text.d_model) for key, n in zip(KEYS, sizes, strict=True)})
    check_floating(params=params)
    check_tokens("token_ids", token_ids, config.vocab_size, mask=mask)
    n_batch, n_seq = token_ids.shape
    earlier = causal_mask(n_seq, n_seq, like=token_ids)
    tokens, token_pullback = embedding(token_ids, scope(params, "token."))
    embedded, position_pullback = learned_positions(tokens, scope(params, "position."))
    states, encoder_pullback = encoder(
        embedded, blocks_of(params), block=pre_norm_block, **settings_of(config.text),
        mask=earlier if mask is None else earlier & padding_mask(mask),
    )  # fmt: skip
    rows = xp.arange(n_batch) * n_seq + ends(token_ids, eos_id=config.eos_id)
    flat = xp.reshape(states[-1], (n_batch * n_seq, config.text.d_model))
    normed, norm_pullback = layer_norm(flat[rows], scope(params, "norm."), eps=config.text.norm_eps)
    y, projection_pullback = linear(normed, scope(params, "projection."))

    def pullback(dy):
        check_gradients(dy, (embedded, *states, y), none=range(len(states) + 1))
        dnormed, dprojection = projection_pullback(dy[-1])
        dended, dnorm = norm_pullback(dnormed)
        dlast = xp.reshape(scatter_add(rows, dended, n_batch * n_seq), states[-1].shape)
        dembedded, dencoder = encoder_pullback((*dy[1:-2], add_gradients(dy[-2], dlast)))
        dtokens, dposition = position_pullback(add_gradients(dy[0], dembedded))
        (dtoken,) = token_pullback(dtokens)
        dparts = zip(SCOPES, (dtoken, dposition, dnorm, dprojection), strict=True)
        dparams = merge(dencoder, *(add_prefix(prefix, dpart) for prefix, dpart in dparts))
        return (keyed_as(dparams, params),)

    return (embedded, *states, y), pullback


def ends(token_ids, *, eos_id):
    """Find the token that ends each text.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    eos_id : int or None
        The token; None takes the largest id of a text for it.

    Returns
    -------
    array of int, shape (n_batch,)
        Its first place; 0 where it does not occur.
    """
    xp = array_namespace(token_ids)
    return xp.argmax(token_ids if eos_id is None else (token_ids == eos_id).astype(xp.int64), axis=1)
