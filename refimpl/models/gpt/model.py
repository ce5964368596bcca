"""GPT: token and position embeddings, and a stack of causal blocks (Radford et al. 2018, 2019)."""

from functools import partial

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_boolean,
    check_floating,
    check_gradients,
    check_ids,
    check_integers,
    check_params,
    check_scopes,
    check_setting,
    check_shape,
    check_shapes,
    keyed_as,
    merge,
    pick,
    scope,
)
from refimpl.attention.mask import causal_mask, padding_mask
from refimpl.attention.sparse.alternating import alternating_attention
from refimpl.blocks.encoder import add_gradients, encoder
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.layers.embedding import embedding
from refimpl.layers.layer_norm import layer_norm
from refimpl.models.gpt.config import GptConfig
from refimpl.positions.token_positions import token_positions

EMBEDDING_KEYS = ("token.weight", "position.weight")
BACKBONE = (*EMBEDDING_KEYS, "layers.", "norm.")


def gpt_embeddings(token_ids, params, *, position_ids):
    """Add up what a token says and what its position says.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, vocab_size).
    params : dict of array
        ``token.weight`` (vocab_size, d_model) and ``position.weight`` (n_position, d_model).
    position_ids : array of int, shape (n_batch, n_seq)
        Where each token stands, in [0, n_position).

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The embedded texts.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If an id is out of range, or a shape or a parameter name does not fit.

    References
    ----------
    Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training", eq. 2.
    """
    array_namespace(token_ids, params, position_ids)
    check_params(params, EMBEDDING_KEYS)
    check_floating(params=params)
    check_shape("token_ids", token_ids, (None, None))
    check_shape("token.weight", params["token.weight"], (None, None))
    check_shape("position.weight", params["position.weight"], (None, params["token.weight"].shape[1]))
    check_shape("position_ids", position_ids, token_ids.shape)
    check_ids("position_ids", position_ids, params["position.weight"].shape[0])
    tokens, token_pullback = embedding(token_ids, scope(params, "token."))
    positions, position_pullback = embedding(position_ids, scope(params, "position."))
    y = tokens + positions

    def pullback(dy):
        (dposition,) = position_pullback(dy)
        (dtoken,) = token_pullback(dy)
        dparams = merge(add_prefix("token.", dtoken), add_prefix("position.", dposition))
        return (keyed_as(dparams, params),)

    return y, pullback


def gpt(token_ids, params, *, config, mask=None, position_ids=None):
    """Read texts from left to right; every token comes to know what stands before it.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    params : dict of array
        ``token.weight``, ``position.weight`` (see `gpt_embeddings`), ``layers.{i}.*`` (see `pre_norm_block`) and,
        where ``config.norm_first``, ``norm.*`` (see `layer_norm`).
    config : GptConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding, which may stand on either side.
    position_ids : array of int, shape (n_batch, n_seq), optional
        Where each token stands; by default its place among the tokens of its row.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_seq, d_model)
        The embedded texts and what each block returns, the last one normalised where ``config.norm_first``:
        ``hidden_states`` of `transformers`.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    Notes
    -----
    `transformers` counts positions from the left edge unless ``position_ids`` are given, so that a text that is
    padded on the left reads otherwise than alone.

    References
    ----------
    Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.3.
    """
    array_namespace(token_ids, params, mask, position_ids)
    check_setting("config", config, isinstance(config, GptConfig), "a GptConfig")
    check_scopes(params, BACKBONE)
    check_floating(params=params)
    check_text(token_ids, mask)
    check_tables(params, config)
    places = text_positions(token_ids, mask=mask) if position_ids is None else position_ids
    block, seen = _blocks(config, token_ids, mask)

    embedded, embeddings_pullback = gpt_embeddings(token_ids, pick(params, *EMBEDDING_KEYS), position_ids=places)
    states, stack_pullback = encoder(
        embedded,
        {key: value for key, value in params.items() if key not in EMBEDDING_KEYS},
        n_layer=config.n_layer,
        n_head=config.n_head,
        block=block,
        norm=layer_norm if config.norm_first else None,
        activation=config.activation,
        eps=config.norm_eps,
        mask=seen,
    )

    def pullback(dy):
        check_gradients(dy, (embedded, *states), none=range(config.n_layer))
        dembedded_here, *dstates = dy
        dembedded, dstack = stack_pullback(tuple(dstates))
        (dembeddings,) = embeddings_pullback(add_gradients(dembedded_here, dembedded))
        dparams = merge(dembeddings, dstack)
        return (keyed_as(dparams, params),)

    return (embedded, *states), pullback


def text_positions(token_ids, *, mask=None):
    """Count the tokens of every row from 0, whichever side is padded.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    mask : array of bool, shape (n_batch, n_seq), optional
        True for tokens, False for padding.

    Returns
    -------
    array of int, shape (n_batch, n_seq)
        The position of every token; see `token_positions` for that of padding.
    """
    xp = array_namespace(token_ids, mask)
    check_text(token_ids, mask)
    return xp.zeros_like(token_ids) + xp.arange(token_ids.shape[1]) if mask is None else token_positions(mask)


def check_text(token_ids, mask):
    """Require tokens row by row, and, if there is a mask, one for each of them.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    mask : array of bool, shape (n_batch, n_seq), or None
        True for tokens, False for padding.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If the tokens are not integers, or the mask is not boolean.
    """
    check_integers("token_ids", token_ids)
    check_shape("token_ids", token_ids, (None, None))
    if mask is not None:
        check_boolean(mask=mask)
        check_shape("mask", mask, token_ids.shape)


def check_tables(params, config):
    """Require the two tables of embeddings, as large as the configuration says.

    Parameters
    ----------
    params : dict of array
        As for `gpt`.
    config : GptConfig
        The model's sizes and settings.

    Raises
    ------
    ValueError
        If one is missing, or of another shape.
    """
    sizes = dict(zip(EMBEDDING_KEYS, (config.vocab_size, config.n_position), strict=True))
    check_shapes(pick(params, *EMBEDDING_KEYS), {key: (size, config.d_model) for key, size in sizes.items()})


def _blocks(config, token_ids, mask):
    """Choose the block, or one for each layer, and the mask that goes with it."""
    block = pre_norm_block if config.norm_first else post_norm_block
    is_token = None if mask is None else padding_mask(mask)
    if config.window is None:
        causal = causal_mask(token_ids.shape[1], token_ids.shape[1], like=token_ids)
        return block, causal if is_token is None else causal & is_token
    # These know by themselves which keys lie behind a query, or too far before it.
    attends = [partial(alternating_attention, layer=i, window=config.window) for i in range(config.n_layer)]
    return [partial(block, attend=attend) for attend in attends], is_token
