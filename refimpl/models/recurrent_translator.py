"""Sequence to sequence with two GRUs: one reads, its last state starts the one that writes (Cho et al. 2014)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_ids,
    check_params,
    check_scopes,
    check_setting,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.layers.embedding import embedding
from refimpl.layers.linear import linear
from refimpl.recurrent.gru import gru

PARTS = ("encoder.embedding.", "encoder.gru.", "decoder.embedding.", "decoder.gru.", "projection.")


def recurrent_translator(source_ids, target_ids, params, *, lengths=None):
    """Score what comes next at every place of the target, given the source and the target so far.

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read.
    target_ids : array of int, shape (n_batch, n_target)
        What has been written, beginning with the id that starts a sequence.
    params : dict of array
        ``encoder.embedding.weight``, ``encoder.gru.*``, ``decoder.embedding.weight``, ``decoder.gru.*`` (see `gru`;
        one layer, one direction) and ``projection.*`` (see `linear`).
    lengths : array of int, shape (n_batch,), optional
        Where each source ends; by default at n_source.

    Returns
    -------
    y : array, shape (n_batch, n_target, n_class)
        The scores of what comes next.
    pullback : callable
        Maps dy to ``(dparams,)``.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    TypeError
        If the ids are not integers, or the parameters not floating, of one dtype and one library.

    Notes
    -----
    The whole source has to pass through one vector, the encoder's last state; attention was invented to widen
    this passage.

    References
    ----------
    Cho et al. (2014), "Learning Phrase Representations using RNN Encoder-Decoder", arXiv:1406.1078, section 2.2.
    Sutskever, Vinyals, Le (2014), "Sequence to Sequence Learning with Neural Networks", arXiv:1409.3215.
    """
    xp = array_namespace(source_ids, target_ids, params, lengths)
    _check(source_ids, params)
    check_shape("target_ids", target_ids, (source_ids.shape[0], None))
    check_ids("target_ids", target_ids, params["decoder.embedding.weight"].shape[0])
    source, source_pullback = embedding(source_ids, scope(params, "encoder.embedding."))
    (read, thought), encoder_pullback = gru(source, None, scope(params, "encoder.gru."), lengths=lengths)
    target, target_pullback = embedding(target_ids, scope(params, "decoder.embedding."))
    (written, h_last), decoder_pullback = gru(target, thought, scope(params, "decoder.gru."))
    y, projection_pullback = linear(written, scope(params, "projection."))

    def pullback(dy):
        dwritten, dprojection = projection_pullback(dy)
        dtarget, dthought, ddecoder = decoder_pullback((dwritten, xp.zeros_like(h_last)))
        (dtarget_table,) = target_pullback(dtarget)
        dsource, dencoder = encoder_pullback((xp.zeros_like(read), dthought))
        (dsource_table,) = source_pullback(dsource)
        parts = zip(PARTS, (dsource_table, dencoder, dtarget_table, ddecoder, dprojection), strict=True)
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in parts))
        return (keyed_as(dparams, params),)

    return y, pullback


def translate(source_ids, params, *, start_id, n_target, lengths=None):
    """Write the best continuation one element at a time (greedily).

    Parameters
    ----------
    source_ids : array of int, shape (n_batch, n_source)
        What is read.
    params : dict of array
        As for `recurrent_translator`.
    start_id : int
        The id that starts a sequence.
    n_target : int
        How many elements to write.  Whoever reads them stops at the id that ends a sequence.
    lengths : array of int, shape (n_batch,), optional
        Where each source ends.

    Returns
    -------
    array of int, shape (n_batch, n_target)
        What was written.

    Raises
    ------
    ValueError
        If a shape, an id or a parameter name does not fit.
    """
    xp = array_namespace(source_ids, params, lengths)
    _check(source_ids, params)
    check_setting("n_target", n_target, n_target > 0, "positive")
    source, _ = embedding(source_ids, scope(params, "encoder.embedding."))
    (_, thought), _ = gru(source, None, scope(params, "encoder.gru."), lengths=lengths)
    written, states = [0 * source_ids[:, 0] + start_id], [thought]
    for _ in range(n_target):
        target, _ = embedding(written[-1][:, None], scope(params, "decoder.embedding."))
        (read, state), _ = gru(target, states[-1], scope(params, "decoder.gru."))
        scores, _ = linear(read[:, 0], scope(params, "projection."))
        written.append(xp.argmax(scores, axis=-1))
        states.append(state)
    return xp.stack(written[1:], axis=1)


def _check(source_ids, params):
    check_scopes(params, PARTS)
    required = ["encoder.embedding.weight", "decoder.embedding.weight", "projection.weight"]
    recurrent = [key for key in params if key.startswith(("encoder.gru.", "decoder.gru."))]
    check_params(params, required, ["projection.bias", *recurrent])
    check_floating(params=params)
    check_shape("source_ids", source_ids, (None, None))
    check_ids("source_ids", source_ids, params["encoder.embedding.weight"].shape[0])
