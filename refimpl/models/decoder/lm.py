"""Language modelling with a decoder-only model: how likely every token is to come next."""

from refimpl.arrays import (
    array_namespace,
    check_gradients,
    check_setting,
    check_shapes,
    keyed_as,
)
from refimpl.layers.linear import linear
from refimpl.models.decoder.config import DecoderConfig, decoder_shapes
from refimpl.models.decoder.model import decoder

TOKENS = "embeddings.token.weight"
HEAD = "head.weight"


def decoder_lm(token_ids, params, *, config, mask=None, position_ids=None):
    """Score every token as the next one.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens.
    params : dict of array
        Those of `decoder`, and ``head.weight`` (vocab_size, d_model) unless ``config.tied``.
    config : DecoderConfig
        The sizes and parts.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding.
    position_ids : array of int, shape (n_seq,) or (n_batch, n_seq), optional
        Where the tokens stand; by default counted from 0.

    Returns
    -------
    y : tuple of array
        The logits, shape (n_batch, n_seq, vocab_size); then, of every mixture of experts, those of its router.
    pullback : callable
        Maps a tuple of as many dy, of which those of routers may be None (0), to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Press, Wolf (2017), "Using the Output Embedding to Improve Language Models", arXiv:1608.05859 (the tied head).
    """
    array_namespace(token_ids, params, mask, position_ids)
    check_setting("config", config, isinstance(config, DecoderConfig), "a DecoderConfig")
    check_shapes(params, decoder_shapes(config))
    backbone = {key: value for key, value in params.items() if key != HEAD}
    states, decoder_pullback = decoder(token_ids, backbone, config=config, mask=mask, position_ids=position_ids)
    logits, head_pullback = linear(states[config.n_layer], {"weight": params[TOKENS if config.tied else HEAD]})
    returned = (logits, *states[config.n_layer + 1 :])

    def pullback(dy):
        check_gradients(dy, returned, none=range(1, len(returned)))
        dlogits, *dtold = dy
        dnormed, dhead = head_pullback(dlogits)
        (dbackbone,) = decoder_pullback((*[None] * config.n_layer, dnormed, *dtold))
        # A tied table is read twice.
        dtied = {TOKENS: dbackbone[TOKENS] + dhead["weight"]} if config.tied else {HEAD: dhead["weight"]}
        dparams = {**dbackbone, **dtied}
        return (keyed_as(dparams, params),)

    return returned, pullback
