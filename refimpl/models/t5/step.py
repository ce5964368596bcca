"""A T5 that writes on: what was read is remembered once, what was written step by step."""

from refimpl.arrays import array_namespace, check_shape, check_tokens, scope
from refimpl.attention.cache.key_value import empty_cache
from refimpl.attention.cache.rows import check_past, newest
from refimpl.blocks.decoding.biased_attention import remember_unscaled
from refimpl.blocks.decoding.t5_block import t5_decoder_decode
from refimpl.layers.embedding import embedding
from refimpl.layers.linear import linear
from refimpl.layers.rms_norm import rms_norm
from refimpl.models.t5.halves import TABLE, block_settings, t5_encoder
from refimpl.models.t5.heads import HEAD, logit_scale
from refimpl.models.t5.model import check_config, half_params


def t5_start(source_ids, params, *, config, mask=None):
    """Read the source, and remember what every block of the decoder will ask of it.

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read.
    params : dict of array
        As for `t5_lm`.
    config : T5Config
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
    states, _ = t5_encoder(source_ids, half_params(params, "encoder."), config=config, mask=mask)
    written = empty_cache(source_ids.shape[0], config.n_head, config.d_head, like=states[-1])
    asked = [scope(params, f"decoder.layers.{i}.cross_attn.") for i in range(config.n_decoder_layer)]
    return tuple(
        (written, remember_unscaled(states[-1], layer, n_head=config.n_head, is_token=mask)) for layer in asked
    )


def t5_step(token_ids, params, past, *, config, mask=None):
    """Score the token after each of the new ones of the target, and remember them.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens: ``config.start_id`` at first, then one at a time, or several.
    params : dict of array
        As for `t5_lm`.
    past : tuple of tuple of KeyValueCache
        As `t5_start` gives it, or the step before.
    config : T5Config
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_key), optional
        True for tokens of the target, False for padding, the new ones last.  Only their columns are read: what was
        padding before, the cache remembers.

    Returns
    -------
    logits : array, shape (n_batch, n_new, vocab_size)
        What `t5_lm` gives at these positions of the whole target.
    grown : tuple of tuple of KeyValueCache
        What is remembered now; the old one still says what it said.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    states, grown = t5_read(token_ids, params, past, config=config, mask=mask)
    head = {"weight": params[HEAD if HEAD in params else TABLE]}
    logits, _ = linear(states * logit_scale(config), head)
    return logits, grown


def t5_read(token_ids, params, past, *, config, mask=None):
    """Read new tokens of the target, and remember them; their scores are left to `t5_step`.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_new)
        The new tokens.
    params : dict of array
        As for `t5_lm`.
    past : tuple of tuple of KeyValueCache
        As `t5_start` gives it, or the step before.
    config : T5Config
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_key), optional
        As for `t5_step`.

    Returns
    -------
    states : array, shape (n_batch, n_new, d_model)
        The last hidden states of the new tokens, before the scale of the logits.
    grown : tuple of tuple of KeyValueCache
        What is remembered now.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    array_namespace(token_ids, params, mask)
    check_config(params, config)
    check_shape("token_ids", token_ids, (None, None))
    check_past(past, config.n_decoder_layer, each="block of the decoder")
    settings = {**block_settings(config), "max_distance": config.max_distance, "is_token": newest(mask, token_ids)}

    x, _ = embedding(token_ids, scope(params, "embedding."))
    grown = []
    for i, layer_past in enumerate(past):
        layer, distances = scope(params, f"decoder.layers.{i}."), scope(params, "decoder.distances.")
        x, layer_grown = t5_decoder_decode(x, layer, layer_past, distances, **settings)
        grown.append(layer_grown)
    last, _ = rms_norm(x, scope(params, "decoder.norm."), eps=config.norm_eps)
    return last, tuple(grown)
