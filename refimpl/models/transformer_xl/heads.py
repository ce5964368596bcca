"""Transformer-XL as a language model: an adaptive softmax that shares the tables of the embedding."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_gradients,
    check_params,
    check_scopes,
    check_setting,
    check_shape,
    integer,
    keyed_as,
    scope,
)
from refimpl.blocks.encoder import add_gradients
from refimpl.layers.adaptive_clusters import cluster_bounds
from refimpl.layers.adaptive_softmax import adaptive_cross_entropy, adaptive_log_softmax
from refimpl.models.transformer_xl.config import TransformerXLConfig
from refimpl.models.transformer_xl.model import BACKBONE, transformer_xl


def transformer_xl_lm(token_ids, memory, params, *, config, mask=None):
    """Give the log-probability of every token for the place after each, and the memory for the next segment.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    memory : array, shape (n_layer, n_batch, n_before, d_model)
        As for `transformer_xl`.
    params : dict of array
        Those of `transformer_xl`; ``softmax.clusters.weight``, ``softmax.clusters.bias`` and
        ``softmax.tables.{i}.bias`` (see `adaptive_log_softmax`), one bias where there is one table; and
        ``softmax.projections.{i}.weight`` of the clusters whose projection is not tied.
    config : TransformerXLConfig
        The model's sizes and settings.
    mask : array of bool, optional
        As for `transformer_xl`.

    Returns
    -------
    y : tuple of array, shapes (n_batch, n_seq, vocab_size) and (n_layer, n_batch, at most n_memory, d_model)
        The log-probabilities, ``prediction_scores`` of `transformers`, and the memory for the next segment.
    pullback : callable
        Maps ``(dlog_probs, dremembered)``, of which the second may be None (0), to ``(dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 4.1.
    """
    array_namespace(token_ids, memory, params, mask)
    backbone = _backbone(params, config)
    (*_, last, remembered), backbone_pullback = transformer_xl(token_ids, memory, backbone, config=config, mask=mask)
    log_probs, softmax_pullback = adaptive_log_softmax(last, _shared(params, config), cutoffs=config.cutoffs)

    def pullback(dy):
        check_gradients(dy, (log_probs, remembered), none=(1,))
        dlog_probs, dremembered = dy
        dlast, dsoftmax = softmax_pullback(dlog_probs)
        dmemory, dbackbone = backbone_pullback((*[None] * config.n_layer, dlast, dremembered))
        return dmemory, _unshared(dbackbone, dsoftmax, params, config)

    return (log_probs, remembered), pullback


def transformer_xl_loss(token_ids, targets, memory, params, *, config, ignore_index=-100, mask=None):
    """Measure how surprising a segment is, and remember it.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        Tokens, in [0, config.vocab_size).
    targets : array of int, shape (n_batch, n_seq)
        The token after each, or `ignore_index`.
    memory : array, shape (n_layer, n_batch, n_before, d_model)
        As for `transformer_xl`.
    params : dict of array
        As for `transformer_xl_lm`.
    config : TransformerXLConfig
        The model's sizes and settings.
    ignore_index : int, optional
        Targets of this value do not count.
    mask : array of bool, optional
        As for `transformer_xl`.

    Returns
    -------
    y : tuple of array, shapes () and (n_layer, n_batch, at most n_memory, d_model)
        The mean loss, in nats per token, 0 over no targets at all; and the memory for the next segment.
    pullback : callable
        Maps ``(dloss, dremembered)``, of which the second may be None (0), to ``(dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.

    Notes
    -----
    `transformers` shifts the labels by itself, and so leaves out the first of every segment; here the target of the
    last token is the first one of the next segment.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 4.1.
    """
    xp = array_namespace(token_ids, targets, memory, params, mask)
    backbone = _backbone(params, config)
    check_shape("targets", targets, token_ids.shape)
    integer("ignore_index", ignore_index)
    (*_, last, remembered), backbone_pullback = transformer_xl(token_ids, memory, backbone, config=config, mask=mask)
    losses, losses_pullback = adaptive_cross_entropy(
        last, targets, _shared(params, config), cutoffs=config.cutoffs, ignore_index=ignore_index
    )
    n_target = float(max(int(xp.sum((targets != ignore_index).astype(xp.int64), axis=(0, 1))), 1))
    loss = xp.sum(losses, axis=(0, 1)) / n_target

    def pullback(dy):
        check_gradients(dy, (loss, remembered), none=(1,))
        dloss, dremembered = dy
        dlast, dsoftmax = losses_pullback(dloss / n_target + xp.zeros_like(losses))
        dmemory, dbackbone = backbone_pullback((*[None] * config.n_layer, dlast, dremembered))
        return dmemory, _unshared(dbackbone, dsoftmax, params, config)

    return (loss, remembered), pullback


def softmax_sources(config):
    """Say where the parameters of the adaptive softmax come from.

    Parameters
    ----------
    config : TransformerXLConfig
        The settings.

    Returns
    -------
    list of tuple
        Of each: its key in the softmax, our key, and the first and last row of it, or None for all rows.
    """
    bounds = cluster_bounds(config.cutoffs, config.vocab_size)
    one_table = config.div_val == 1
    sources = [(f"clusters.{end}", f"softmax.clusters.{end}", None) for end in ("weight", "bias") if config.cutoffs]
    for i, rows in enumerate(bounds):
        table, cut = (0, rows) if one_table else (i, None)
        sources.append((f"tables.{i}.weight", f"embedding.tables.{table}.weight", cut))
        sources.append((f"tables.{i}.bias", f"softmax.tables.{table}.bias", cut))
        if config.projected:
            tied = config.tie_projections and i > 0
            own, source = f"projections.{i}.weight", f"embedding.projections.{table}.weight"
            sources.append((own, source if tied else f"softmax.{own}", None))
    return sources


def _shared(params, config):
    for _, source, rows in softmax_sources(config):
        if rows is not None:
            check_shape(source, params[source], (config.vocab_size, *[None] * source.endswith("weight")))
    return {
        key: params[source] if rows is None else params[source][rows[0] : rows[1]]
        for key, source, rows in softmax_sources(config)
    }


def _unshared(dbackbone, dsoftmax, params, config):
    """Add up what each of our parameters receives, in the embedding and at all its places in the softmax."""
    dparams = dict(dbackbone)
    for key, source, rows in softmax_sources(config):
        dhere = dsoftmax[key] if rows is None else _padded(dsoftmax[key], rows, params[source].shape[0])
        dparams = {**dparams, source: add_gradients(dparams.get(source), dhere)}
    return keyed_as(dparams, params)


def _padded(d, rows, n_row):
    xp = array_namespace(d)
    return xp.pad(d, ((rows[0], n_row - rows[1]), *[(0, 0)] * (d.ndim - 1)), mode="constant")


def _backbone(params, config):
    check_setting("config", config, isinstance(config, TransformerXLConfig), "a TransformerXLConfig")
    check_scopes(params, (*BACKBONE, "softmax."))
    own = {source for _, source, _ in softmax_sources(config) if source.startswith("softmax.")}
    check_params(add_prefix("softmax.", scope(params, "softmax.")), own)
    return {key: value for key, value in params.items() if key not in own}
