"""Additive attention over an encoder's states (Bahdanau, Cho, Bengio 2015, arXiv:1409.0473)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_rank,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.attention.alignment.align import align
from refimpl.attention.mask import blank_unattended, check_mask
from refimpl.layers.linear import linear
from refimpl.layers.tanh import tanh


def additive_attention(q, states, params, *, mask=None):
    """Gather an encoder's states, weighted by how well a small network thinks they fit the decoder's.

    Parameters
    ----------
    q : array, shape (..., n_query, d_query)
        The decoder's states that ask.
    states : array, shape (..., n_key, d_state)
        The encoder's states, which are asked and gathered.
    params : dict of array
        ``query.weight`` (d_hidden, d_query) and ``key.weight`` (d_hidden, d_state), the paper's W and U;
        ``score.weight`` (1, d_hidden), its v; optionally ``query.bias`` or ``key.bias`` (d_hidden,).
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a state.

    Returns
    -------
    y : tuple of array
        What was gathered, (..., n_query, d_state), and the weights, (..., n_query, n_key); 0 where a query attends to
        nothing.
    pullback : callable
        Maps ``(dgathered, dweights)`` to ``(dq, dstates, dparams)``.

    Raises
    ------
    ValueError
        If a shape or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    States that are masked for every query may hold NaN or inf.  A bias of the score would shift all scores of a query
    alike and change nothing, so there is none.

    References
    ----------
    Bahdanau, Cho, Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and Translate",
    arXiv:1409.0473, appendix A.1.2: ``score = v' tanh(W q + U state)``.
    """
    xp = array_namespace(q, states, params, mask)
    _check(q, states, params, mask)
    keys = blank_unattended(states, mask, axis=-2)
    queries = blank_unattended(q, mask, axis=-1)
    from_q, q_pullback = linear(queries, scope(params, "query."))
    from_k, k_pullback = linear(keys, scope(params, "key."))
    bent, bend_pullback = tanh(from_q[..., :, None, :] + from_k[..., None, :, :])  # (..., n_query, n_key, d_hidden)
    scored, score_pullback = linear(bent, scope(params, "score."))
    y, align_pullback = align(scored[..., 0], keys, mask=mask)

    def pullback(dy):
        dscores, dkeys_gathered = align_pullback(dy)
        dbent, dscore = score_pullback(dscores[..., None])
        (dsum,) = bend_pullback(dbent)
        dkeys_scored, dkey = k_pullback(xp.sum(dsum, axis=dsum.ndim - 3))
        dq, dquery = q_pullback(xp.sum(dsum, axis=dsum.ndim - 2))
        dparams = merge(add_prefix("query.", dquery), add_prefix("key.", dkey), add_prefix("score.", dscore))
        return dq, dkeys_gathered + dkeys_scored, keyed_as(dparams, params)

    return y, pullback


def _check(q, states, params, mask):
    check_params(params, ["query.weight", "key.weight", "score.weight"], ["query.bias", "key.bias"])
    check_floating(q=q, states=states, params=params)
    check_rank("q", q, 2)
    check_rank("states", states, 2)
    check_shape("query.weight", params["query.weight"], (None, q.shape[-1]))
    d_hidden = params["query.weight"].shape[0]
    check_shape("states", states, (*q.shape[:-2], None, states.shape[-1]))
    check_shape("key.weight", params["key.weight"], (d_hidden, states.shape[-1]))
    check_shape("score.weight", params["score.weight"], (1, d_hidden))
    for key in params.keys() & {"query.bias", "key.bias"}:
        check_shape(key, params[key], (d_hidden,))
    check_mask(mask, (*q.shape[:-1], states.shape[-2]))
