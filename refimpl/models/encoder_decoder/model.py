"""The encoder–decoder Transformer on tokens: one table of embeddings for what is read and what is written."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_params,
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
from refimpl.attention.mask import causal_mask, padding_mask
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.transformer import transformer
from refimpl.models.encoder_decoder.config import EncoderDecoderConfig
from refimpl.models.encoder_decoder.embeddings import embedded_tokens

TABLE = "embedding.weight"
HALVES = ("encoder.", "decoder.")
EMBEDDINGS = ("position.weight", "embedding_norm.weight", "embedding_norm.bias")


def encoder_decoder(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    """Read the source, and write the target while asking what was read; no position of the target sees a later one.

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read, in [0, config.vocab_size).
    target_ids : array of int, shape (n_batch, n_target)
        What is written, beginning with ``config.start_id``: the labels, shifted by one.
    params : dict of array
        ``embedding.weight`` (vocab_size, d_model), of source and target; ``encoder.layers.{i}.*`` and
        ``decoder.layers.{i}.*`` as in `transformer`; and below ``encoder.`` and ``decoder.``, where the configuration
        has them, ``position.weight``, ``embedding_norm.*`` (see `embedded_tokens`) and ``norm.*``.
    config : EncoderDecoderConfig
        The model's sizes and settings.
    mask : array of bool, shape (n_batch, n_source), optional
        True for tokens of the source, False for padding, which may stand on either side.
    target_mask : array of bool, shape (n_batch, n_target), optional
        The same for the target.

    Returns
    -------
    y : tuple of array, each of shape (n_batch, n_source or n_target, d_model)
        The embedded source and what each block of the encoder makes of it, then the same of target and decoder:
        ``encoder_hidden_states`` and ``decoder_hidden_states`` of `transformers`.
    pullback : callable
        Maps a tuple of as many dy, of which any but the last may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.
    """
    array_namespace(source_ids, target_ids, params, mask, target_mask)
    check_config(params, config)
    check_scopes(params, (TABLE, *HALVES))
    check_tokens("source_ids", source_ids, config.vocab_size, mask=mask)
    check_shape("target_ids", target_ids, (source_ids.shape[0], None))
    check_tokens("target_ids", target_ids, config.vocab_size, target_mask=target_mask)
    readable = None if mask is None else padding_mask(mask)
    earlier = causal_mask(target_ids.shape[1], target_ids.shape[1], like=target_ids)
    source, source_pullback = embedded_tokens(source_ids, embedding_params(params, "encoder."), config=config)
    target, target_pullback = embedded_tokens(target_ids, embedding_params(params, "decoder."), config=config)
    states, transformer_pullback = transformer(
        source, target, {key: params[key] for key in params if not key.endswith((TABLE, *EMBEDDINGS))},
        mask=readable, memory_mask=readable,
        target_mask=earlier if target_mask is None else earlier & padding_mask(target_mask),
        **transformer_settings(config),
    )  # fmt: skip
    returned = (source, *states[: config.n_layer], target, *states[config.n_layer :])

    def pullback(dy):
        check_gradients(dy, returned, none=range(len(returned) - 1))
        dread, dwritten = dy[: config.n_layer + 1], dy[config.n_layer + 1 :]
        dsource, dtarget, dtransformer = transformer_pullback((*dread[1:], *dwritten[1:]))
        (dof_target,) = target_pullback(add_gradients(dwritten[0], dtarget))
        (dof_source,) = source_pullback(add_gradients(dread[0], dsource))
        # One table embeds what is read and what is written.
        dtable = {TABLE: dof_source["token.weight"] + dof_target["token.weight"]}
        dembeddings = zip(HALVES, (dof_source, dof_target), strict=True)
        dplaces = [add_prefix(half, pick(dhalf, *EMBEDDINGS)) for half, dhalf in dembeddings]
        dparams = merge(dtable, *dplaces, dtransformer)
        return (keyed_as(dparams, params),)

    return returned, pullback


def embedding_params(params, half):
    """Select what embeds the tokens of one half, as `embedded_tokens` names it.

    Parameters
    ----------
    params : dict of array
        As for `encoder_decoder`.
    half : {"encoder.", "decoder."}
        Which.

    Returns
    -------
    dict of array
        ``token.weight``, the table that both share, and what else there is.
    """
    return {"token.weight": params[TABLE], **pick(scope(params, half), *EMBEDDINGS)}


def transformer_settings(config):
    """List the settings of `transformer` that a configuration settles.

    Parameters
    ----------
    config : EncoderDecoderConfig
        The model's sizes and settings.

    Returns
    -------
    dict
        Keyword arguments.
    """
    names = "n_layer n_decoder_layer n_head n_decoder_head norm_first activation".split()
    return {**{name: getattr(config, name) for name in names}, "eps": config.norm_eps}


def check_config(params, config):
    """Require a configuration, and parameters that fit it.

    Parameters
    ----------
    params : dict of array
        As for `encoder_decoder`, and those of a head.
    config : EncoderDecoderConfig
        The model's sizes and settings.

    Raises
    ------
    ValueError
        If a parameter is missing, or there is a norm that the configuration does not have.
    TypeError
        If the parameters are not floating, or of several dtypes.
    """
    check_setting("config", config, isinstance(config, EncoderDecoderConfig), "an EncoderDecoderConfig")
    check_scopes(params, (TABLE, *HALVES, "head."))
    check_shapes(pick(params, TABLE), {TABLE: (config.vocab_size, config.d_model)})
    check_floating(params=params)
    for half in HALVES:
        keys = [f"{half}norm.weight", f"{half}norm.bias"] if config.final_norm else []
        check_params({key: params[key] for key in params if key.startswith(f"{half}norm.")}, keys)
