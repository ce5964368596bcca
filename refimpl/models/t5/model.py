"""T5: an encoder–decoder whose blocks share one bias of distances, and know no other positions."""

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
from refimpl.blocks.encoder import add_gradients
from refimpl.models.t5.config import T5Config
from refimpl.models.t5.halves import TABLE, t5_decoder, t5_encoder

HALVES = ("encoder.", "decoder.")


def t5(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    """Read the source, and write the target while asking what was read; no position of the target sees a later one.

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read, in [0, config.vocab_size).
    target_ids : array of int, shape (n_batch, n_target)
        What is written, beginning with ``config.start_id``: the labels, shifted by one.
    params : dict of array
        ``embedding.weight`` (vocab_size, d_model), of source and target; ``encoder.distances.weight`` and
        ``decoder.distances.weight`` (n_bucket, n_head); ``encoder.layers.{i}.*`` (see `t5_encoder_block`),
        ``decoder.layers.{i}.*`` (see `t5_decoder_block`); ``encoder.norm.weight`` and ``decoder.norm.weight``.
    config : T5Config
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_source), optional
        True for tokens of the source, False for padding, which may stand on either side.
    target_mask : array of bool, shape (n_batch, n_target), optional
        The same for the target.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_source or n_target, d_model)
        The embedded source and what each block of the encoder makes of it, the last one normalised, then the same of
        target and decoder: ``encoder_hidden_states`` and ``decoder_hidden_states`` of `transformers`.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    array_namespace(source_ids, target_ids, params, mask, target_mask)
    check_config(params, config)
    check_scopes(params, (TABLE, *HALVES))
    check_tokens("source_ids", source_ids, config.vocab_size, mask=mask)
    check_shape("target_ids", target_ids, (source_ids.shape[0], None))
    check_tokens("target_ids", target_ids, config.vocab_size, target_mask=target_mask)
    read, encoder_pullback = t5_encoder(source_ids, half_params(params, "encoder."), config=config, mask=mask)
    written, decoder_pullback = t5_decoder(
        target_ids, read[-1], half_params(params, "decoder."), config=config, mask=target_mask, memory_mask=mask
    )

    def pullback(dy):
        check_gradients(dy, (*read, *written), none=range(len(read) + len(written) - 1))
        dread, dwritten = dy[: config.n_layer + 1], dy[config.n_layer + 1 :]
        dmemory, dof_target = decoder_pullback(dwritten)
        (dof_source,) = encoder_pullback((*dread[:-1], add_gradients(dread[-1], dmemory)))
        dhalves = merge(add_prefix("encoder.", dof_source), add_prefix("decoder.", dof_target))
        # One table embeds what is read and what is written.
        dparams = {**dhalves, TABLE: dof_source[TABLE] + dof_target[TABLE]}
        return (keyed_as(dparams, params),)

    return (*read, *written), pullback


def half_params(params, half):
    """Select the parameters of one half, the table that both share among them.

    Parameters
    ----------
    params : dict of array
        As for `t5`.
    half : {"encoder.", "decoder."}
        Which.

    Returns
    -------
    dict of array
        Those of `t5_encoder` or `t5_decoder`.
    """
    return {TABLE: params[TABLE], **scope(params, half)}


def check_config(params, config):
    """Require a configuration, and floating parameters among which is the table.

    Parameters
    ----------
    params : dict of array
        As for `t5`, and those of a head.
    config : T5Config
        The model's sizes and settings.

    Raises
    ------
    ValueError
        If it is no configuration, or a parameter has no place.
    TypeError
        If the parameters are not floating, or of several dtypes.
    """
    check_setting("config", config, isinstance(config, T5Config), "a T5Config")
    check_scopes(params, (TABLE, *HALVES, "head."))
    check_shapes(pick(params, TABLE), {TABLE: (config.vocab_size, config.d_model)})
    check_floating(params=params)
