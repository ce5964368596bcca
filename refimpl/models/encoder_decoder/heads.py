"""What an encoder–decoder is trained for: to guess the next token of the target (Vaswani et al. 2017, section 3.4)."""

from refimpl.arrays import add_prefix, array_namespace, keyed_as, pick, scope
from refimpl.layers.linear import linear
from refimpl.models.encoder_decoder.model import TABLE, check_config, encoder_decoder

HEAD_BIAS = "head.bias"


def encoder_decoder_lm(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    """Score every token as the next one of the target.

    Parameters
    ----------
    source_ids, target_ids : array of int, shapes (n_batch, n_source) and (n_batch, n_target)
        As for `encoder_decoder`.
    params : dict of array
        Those of `encoder_decoder`, and optionally ``head.bias`` (vocab_size,).  The weight of the head is the table of
        embeddings.
    config : EncoderDecoderConfig
        The model's sizes and settings.
    mask, target_mask : array of bool, optional
        As for `encoder_decoder`.

    Returns
    -------
    y : array, shape (n_batch, n_target, vocab_size)
        Logits.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    Notes
    -----
    ``head.bias`` is ``final_logits_bias`` of `transformers`, a buffer there: it is added, and never trained.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.4.
    """
    array_namespace(source_ids, target_ids, params, mask, target_mask)
    check_config(params, config)
    backbone = {key: value for key, value in params.items() if key != HEAD_BIAS}
    states, backbone_pullback = encoder_decoder(
        source_ids, target_ids, backbone, config=config, mask=mask, target_mask=target_mask
    )
    y, head_pullback = linear(states[-1], head_params(params))

    def pullback(dy):
        dlast, dhead = head_pullback(dy)
        (dbackbone,) = backbone_pullback((*[None] * (len(states) - 1), dlast))
        # The table is used twice, at the bottom and, tied, at the top.
        tied = {TABLE: dbackbone[TABLE] + dhead["weight"]}
        dparams = {**dbackbone, **tied, **add_prefix("head.", pick(dhead, "bias"))}
        return (keyed_as(dparams, params),)

    return y, pullback


def head_params(params):
    """Select what scores the tokens: the table that embeds them, and a bias.

    Parameters
    ----------
    params : dict of array
        As for `encoder_decoder_lm`.

    Returns
    -------
    dict of array
        Those of `linear`.
    """
    return {"weight": params[TABLE], **scope(pick(params, HEAD_BIAS), "head.")}
