"""An encoder–decoder that writes on: what was read is remembered once, what was written step by step."""

from refimpl.arrays import array_namespace, check_shape, check_tokens, scope
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.cache.rows import check_past, newest, next_positions
from refimpl.attention.mask import padding_mask
from refimpl.attention.multi_head_decode import remember
from refimpl.blocks.decoding.decoder_block import post_norm_decoder_decode, pre_norm_decoder_decode
from refimpl.blocks.encoder import encoder
from refimpl.blocks.encoder_block import post_norm_block, pre_norm_block
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.linear import linear
from refimpl.models.encoder_decoder.embeddings import embedded_tokens
from refimpl.models.encoder_decoder.heads import head_params
from refimpl.models.encoder_decoder.model import EMBEDDINGS, check_config, embedding_params


def encoder_decoder_start(source_ids, params, *, config, mask=None):
    """Read the source, and remember what every block of the decoder will ask of it.

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read.
    params : dict of array
        As for `encoder_decoder_lm`.
    config : EncoderDecoderConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_source), optional
        True for tokens, False for padding.

    Returns
    -------
    tuple of tuple of KeyValueCache
        For every block of the decoder what it has written, nothing yet, and what it reads.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    array_namespace(source_ids, params, mask)
    check_config(params, config)
    check_tokens("source_ids", source_ids, config.vocab_size, mask=mask)
    own = {key: value for key, value in scope(params, "encoder.").items() if key not in EMBEDDINGS}
    source, _ = embedded_tokens(source_ids, embedding_params(params, "encoder."), config=config)
    states, _ = encoder(
        source, own, n_layer=config.n_layer, n_head=config.n_head, activation=config.activation, eps=config.norm_eps,
        block=pre_norm_block if config.norm_first else post_norm_block,
        norm=layer_norm if config.final_norm else None, mask=None if mask is None else padding_mask(mask),
    )  # fmt: skip
    n_head = config.n_decoder_head
    written = empty_cache(source_ids.shape[0], n_head, config.d_model // n_head, like=source)
    asked = [scope(params, f"decoder.layers.{i}.multihead_attn.") for i in range(config.n_decoder_layer)]
    return tuple((written, remember(states[-1], layer, n_head=n_head, is_token=mask)) for layer in asked)


def encoder_decoder_step(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Score the token after each of the new ones of the target, and remember them.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens: ``config.start_id`` at first, then one at a time, or several.
    params : dict of array
        As for `encoder_decoder_lm`.
    past : tuple of tuple of KeyValueCache
        As `encoder_decoder_start` gives it, or the step before.
    config : EncoderDecoderConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_key), optional
        True for tokens of the target, False for padding, the new ones last.  Only their columns are read: what was
        padding before, the cache remembers.
    position_ids : array of int, shape (n_batch, n_new), optional
        Where each new token stands; by default its place among the tokens of its row.

    Returns
    -------
    logits : array, shape (n_batch, n_new, vocab_size)
        What `encoder_decoder_lm` gives at these positions of the whole target.
    grown : tuple of tuple of KeyValueCache
        What is remembered now; the old one still says what it said.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    states, grown = encoder_decoder_read(token_ids, params, past, config=config, mask=mask, position_ids=position_ids)
    logits, _ = linear(states, head_params(params))
    return logits, grown


def encoder_decoder_read(token_ids, params, past, *, config, mask=None, position_ids=None):
    """Read new tokens of the target, and remember them; their scores are left to `encoder_decoder_step`.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens.
    params : dict of array
        As for `encoder_decoder_lm`.
    past : tuple of tuple of KeyValueCache
        As `encoder_decoder_start` gives it, or the step before.
    config : EncoderDecoderConfig
        The model's sizes and settings.
    mask, position_ids : array, optional
        As for `encoder_decoder_step`.

    Returns
    -------
    states : array, shape (n_batch, n_new, d_model)
        The last hidden states of the new tokens.
    grown : tuple of tuple of KeyValueCache
        What is remembered now.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    xp = array_namespace(token_ids, params, mask, position_ids)
    check_config(params, config)
    check_shape("token_ids", token_ids, (None, None))
    check_past(past, config.n_decoder_layer, each="block of the decoder")
    is_token = newest(mask, token_ids)
    counted = next_positions(past[0][0].n_seen, token_ids.shape[1], is_token=is_token)
    places = xp.where(counted >= 0, counted, 0) if position_ids is None else position_ids
    block = pre_norm_decoder_decode if config.norm_first else post_norm_decoder_decode

    x, _ = embedded_tokens(token_ids, embedding_params(params, "decoder."), config=config, position_ids=places)
    grown = []
    for i, layer_past in enumerate(past):
        x, layer_grown = block(
            x, scope(params, f"decoder.layers.{i}."), layer_past, n_head=config.n_decoder_head,
            activation=config.activation, eps=config.norm_eps, is_token=is_token,
        )  # fmt: skip
        grown.append(layer_grown)
    last = layer_norm(x, scope(params, "decoder.norm."), eps=config.norm_eps)[0] if config.final_norm else x
    return last, tuple(grown)
