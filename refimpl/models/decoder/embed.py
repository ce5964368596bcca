"""Embeddings of tokens, normalised where the model says so (as in Bloom)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_setting,
    check_shapes,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.embedding import embedding
from refimpl.models.decoder.config import DecoderConfig


def embed(token_ids, params, *, config):
    """Look up the tokens, and normalise where the configuration says so.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    params : dict of array
        ``token.weight`` (vocab_size, d_model), and ``norm.*`` where ``config.embedding_norm``.
    config : DecoderConfig
        The sizes and parts.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The embedded sequences.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    Notes
    -----
    No row is left untrained: in `transformers` that of ``pad_token_id`` is.

    References
    ----------
    Le Scao et al. (2022), "BLOOM", arXiv:2211.05100, section 3.2.1 (the norm, for stability).
    """
    array_namespace(token_ids, params)
    check_setting("config", config, isinstance(config, DecoderConfig), "a DecoderConfig")
    norm_shapes = add_prefix("norm.", config.norm.shapes(config.d_model)) if config.embedding_norm else {}
    check_shapes(params, {"token.weight": (config.vocab_size, config.d_model), **norm_shapes})
    tokens, token_pullback = embedding(token_ids, scope(params, "token."))
    y, norm_pullback = config.norm(tokens, scope(params, "norm.")) if norm_shapes else (tokens, _no_norm)

    def pullback(dy):
        dtokens, dnorm = norm_pullback(dy)
        (dtoken,) = token_pullback(dtokens)
        dparams = merge(add_prefix("token.", dtoken), add_prefix("norm.", dnorm))
        return (keyed_as(dparams, params),)

    return y, pullback


def _no_norm(dy):
    return dy, {}
