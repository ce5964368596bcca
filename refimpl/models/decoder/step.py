"""Decoding step by step: new tokens go through the model, and the past comes from a cache."""

from refimpl.arrays import array_namespace, check_setting, check_shape, check_shapes, scope
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.cache.rows import check_past, newest
from refimpl.blocks.causal_block import causal_block
from refimpl.layers.linear import linear
from refimpl.models.decoder.attend import Recall
from refimpl.models.decoder.config import DecoderConfig, decoder_shapes
from refimpl.models.decoder.embed import embed
from refimpl.models.decoder.lm import HEAD, TOKENS


def decoder_step(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Score the tokens that may follow new ones, computing only what is new.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens: first the prompt, then one at a time, say.
    params : dict of array
        As for `decoder_lm`.
    past : tuple of KeyValueCache or None
        What each layer remembers; None to begin with.
    config : DecoderConfig
        The sizes and parts.
    mask : array of bool, shape (n_batch, n_key), optional
        False for padding, of all tokens so far: the new ones are the last.
    position_ids : array of int, shape (n_batch, n_new), optional
        Where the new tokens stand; by default the cache counts the tokens.

    Returns
    -------
    logits : array, shape (n_batch, n_new, vocab_size)
        What `decoder_lm` gives at these positions of the whole text.
    grown : tuple of KeyValueCache
        The past with the new tokens; the old one still says what it said.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    TypeError
        If the ids are not integers or the mask is not boolean.
    """
    normed, grown = decoder_read(token_ids, params, past, config=config, mask=mask, position_ids=position_ids)
    logits, _ = linear(normed, {"weight": params[TOKENS if config.tied else HEAD]})
    return logits, grown


def decoder_read(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Read new tokens, and remember them; their scores are left to `decoder_step`.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens.
    params : dict of array
        As for `decoder_lm`.
    past : tuple of KeyValueCache or None
        What each layer remembers; None to begin with.
    config : DecoderConfig
        The sizes and parts.
    mask, position_ids : array, optional
        As for `decoder_step`.

    Returns
    -------
    states : array, shape (n_batch, n_new, d_model)
        The last hidden states of the new tokens, normalised.
    grown : tuple of KeyValueCache
        The past with the new tokens.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    TypeError
        If the ids are not integers or the mask is not boolean.
    """
    array_namespace(token_ids, params, mask, position_ids)
    check_setting("config", config, isinstance(config, DecoderConfig), "a DecoderConfig")
    check_shapes(params, decoder_shapes(config))
    check_shape("token_ids", token_ids, (None, None))
    remembered = _nothing_yet(token_ids, params, config) if past is None else past
    check_past(remembered, config.n_layer)
    settings = {**config.attention_settings(), "is_token": newest(mask, token_ids), "positions": position_ids}

    state, _ = embed(token_ids, scope(params, "embeddings."), config=config)
    grown = []
    for i, (feed, layer_past) in enumerate(zip(config.feeds, remembered, strict=True)):
        attend = Recall(layer_past, settings)
        parts = {"norm": config.norm, "attend": attend, "feed": feed, "parallel": config.parallel}
        (state, layer_grown, *_), _ = causal_block(state, scope(params, f"layers.{i}."), **parts)
        grown.append(layer_grown)
    normed, _ = config.norm(state, scope(params, "norm."))
    return normed, tuple(grown)


def _nothing_yet(token_ids, params, config):
    sizes = (token_ids.shape[0], config.n_kv_head, config.d_head)
    return (empty_cache(*sizes, like=params[TOKENS], window=config.window),) * config.n_layer
