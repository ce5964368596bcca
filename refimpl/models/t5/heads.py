"""What T5 is trained for: to guess the next token of the target."""

import math

from refimpl.arrays import add_prefix, array_namespace, check_shapes, keyed_as, pick
from refimpl.layers.linear import linear
from refimpl.models.t5.halves import TABLE
from refimpl.models.t5.model import check_config, t5

HEAD = "head.weight"


def t5_lm(source_ids, target_ids, params, *, config, mask=None, target_mask=None):
    """Score every token as the next one of the target.

    Parameters
    ----------
    source_ids, target_ids : array of int, shapes (n_batch, n_source) and (n_batch, n_target)
        As for `t5`.
    params : dict of array
        Those of `t5`, and ``head.weight`` (vocab_size, d_model) where the head is not tied to the table of embeddings.
    config : T5Config
        The model's sizes and settings.
    mask, target_mask : array of bool, optional
        As for `t5`.

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
    The first T5 has a tied head and multiplies by ``d_model ** -0.5`` before it, as the table has the scale of
    embeddings; T5 1.1 has a head of its own and does not.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    array_namespace(source_ids, target_ids, params, mask, target_mask)
    check_config(params, config)
    is_tied = HEAD not in params
    check_shapes(pick(params, HEAD), {} if is_tied else {HEAD: (config.vocab_size, config.d_model)})
    backbone = {key: value for key, value in params.items() if key != HEAD}
    states, t5_pullback = t5(source_ids, target_ids, backbone, config=config, mask=mask, target_mask=target_mask)
    scale = logit_scale(config)
    y, head_pullback = linear(states[-1] * scale, {"weight": params[TABLE if is_tied else HEAD]})

    def pullback(dy):
        dscaled, dhead = head_pullback(dy)
        (dbackbone,) = t5_pullback((*[None] * (len(states) - 1), dscaled * scale))
        # A tied table is used twice, at the bottom and at the top.
        dtable = dbackbone[TABLE] + dhead["weight"] if is_tied else dbackbone[TABLE]
        dparams = {**dbackbone, TABLE: dtable, **add_prefix("head.", dhead)}
        return (keyed_as(dparams, params),)

    return y, pullback


def logit_scale(config):
    """Say what the decoder's last state is multiplied by before it is scored.

    Parameters
    ----------
    config : T5Config
        The model's sizes and settings.

    Returns
    -------
    float
        ``d_model ** -0.5``, or 1.
    """
    return 1.0 / math.sqrt(config.d_model) if config.scale_logits else 1.0
