"""A GPT that goes on from what it has read: logits of the new tokens, keys and values of the old ones remembered."""

from refimpl.arrays import array_namespace, check_scopes, check_setting, check_shape, pick, scope
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.cache.rows import check_past, newest, next_positions
from refimpl.blocks.decoding.encoder_block import post_norm_decode, pre_norm_decode
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.models.gpt.config import GptConfig
from refimpl.models.gpt.heads import HEAD, TOKEN_TABLE
from refimpl.models.gpt.model import EMBEDDING_KEYS, check_tables, gpt_embeddings


def gpt_step(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Score the token after each of the new ones, and remember them.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens: the whole prompt at first, then one at a time, or several.
    params : dict of array
        As for `gpt_lm`.
    past : tuple of KeyValueCache or None
        What is remembered, layer by layer; None where nothing is.
    config : GptConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_key), optional
        True for tokens, False for padding, the new ones last.  Only their columns are read: what was padding before,
        the cache remembers.
    position_ids : array of int, shape (n_batch, n_new), optional
        Where each new token stands; by default its place among the tokens of its row.

    Returns
    -------
    logits : array, shape (n_batch, n_new, vocab_size)
        What `gpt_lm` gives at these positions of the whole text.
    grown : tuple of KeyValueCache
        What is remembered now; the old one still says what it said.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    states, grown = gpt_read(token_ids, params, past, config=config, mask=mask, position_ids=position_ids)
    logits, _ = linear(states, {"weight": params[TOKEN_TABLE if config.tied else HEAD]})
    return logits, grown


def gpt_read(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Read new tokens, and remember them; their scores are left to `gpt_step`.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens.
    params : dict of array
        As for `gpt_lm`.
    past : tuple of KeyValueCache or None
        What is remembered.
    config : GptConfig
        The model's sizes and settings.
    mask, position_ids : array, optional
        As for `gpt_step`.

    Returns
    -------
    states : array, shape (n_batch, n_new, d_model)
        The last hidden states of the new tokens.
    grown : tuple of KeyValueCache
        What is remembered now.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    xp = array_namespace(token_ids, params, mask, position_ids)
    check_setting("config", config, isinstance(config, GptConfig), "a GptConfig")
    blocks = [f"layers.{i}." for i in range(config.n_layer)]
    others = (*EMBEDDING_KEYS, *(["norm."] if config.norm_first else []), *([] if config.tied else [HEAD]))
    check_scopes(params, (*others, *blocks))
    check_shape("token_ids", token_ids, (None, None))
    check_tables(params, config)
    remembered = _empty(token_ids, params, config) if past is None else past
    check_past(remembered, config.n_layer)
    is_token = newest(mask, token_ids)
    counted = next_positions(remembered[0].n_seen, token_ids.shape[1], is_token=is_token)
    places = xp.where(counted >= 0, counted, 0) if position_ids is None else position_ids
    block = pre_norm_decode if config.norm_first else post_norm_decode

    x, _ = gpt_embeddings(token_ids, pick(params, *EMBEDDING_KEYS), position_ids=places)
    grown = []
    for i, layer_past in enumerate(remembered):
        x, layer_grown = block(
            x, scope(params, f"layers.{i}."), layer_past, n_head=config.n_head, activation=config.activation,
            eps=config.norm_eps, is_token=is_token,
        )  # fmt: skip
        grown.append(layer_grown)
    last = layer_norm(x, scope(params, "norm."), eps=config.norm_eps)[0] if config.norm_first else x
    return last, tuple(grown)


def _empty(token_ids, params, config):
    windows = [config.window if layer % 2 else None for layer in range(config.n_layer)]
    sizes = (token_ids.shape[0], config.n_head, config.d_model // config.n_head)
    return tuple(empty_cache(*sizes, like=params[TOKEN_TABLE], window=window) for window in windows)
