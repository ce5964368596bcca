"""Multiplicative attention over an encoder's states (Luong, Pham, Manning 2015, arXiv:1508.04025)."""

from refimpl.arrays import (
    array_namespace,
    check_choice,
    check_floating,
    check_params,
    check_rank,
    check_shape,
    keyed_as,
)
from refimpl.attention.alignment.additive import additive_attention
from refimpl.attention.alignment.align import align
from refimpl.attention.mask import blank_unattended, check_mask
from refimpl.layers.linear import linear

KEYS = {"dot": (), "general": ("weight",), "concat": ("weight", "score.weight")}


def multiplicative_attention(q, states, params, *, score="dot", mask=None):
    """Gather an encoder's states, weighted by their products with the decoder's.

    Parameters
    ----------
    q : array, shape (..., n_query, d_query)
        The decoder's states that ask.
    states : array, shape (..., n_key, d_state)
        The encoder's states, which are asked and gathered; for ``"dot"`` d_state is d_query.
    params : dict of array
        For ``"dot"`` empty; for ``"general"`` ``weight`` (d_query, d_state); for ``"concat"`` ``weight``
        (d_hidden, d_query + d_state) and ``score.weight`` (1, d_hidden).
    score : {"dot", "general", "concat"}, optional
        ``q · state``, ``q · W state``, or ``v · tanh(W [q; state])``.
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
        If a shape, the score or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    Not scaled by ``1 / sqrt(d)``, which Vaswani et al. added.  ``"concat"`` is additive attention whose two weights
    stand side by side in one.  States that are masked for every query may hold NaN or inf.

    References
    ----------
    Luong, Pham, Manning (2015), "Effective Approaches to Attention-based Neural Machine Translation",
    arXiv:1508.04025, eq. 7 and 8.
    """
    array_namespace(q, states, params, mask)
    check_choice("score", score, KEYS)
    _check(q, states, params, score, mask)
    attend = _attend_concat if score == "concat" else _attend_product
    return attend(q, states, params, mask)


def _attend_product(q, states, params, mask):
    xp = array_namespace(q, states, params, mask)
    values = blank_unattended(states, mask, axis=-2)
    queries = blank_unattended(q, mask, axis=-1)
    keys, key_pullback = linear(values, params) if params else (values, _unmapped)
    scores = xp.matmul(queries, xp.swapaxes(keys, -1, -2))
    y, align_pullback = align(scores, values, mask=mask)

    def pullback(dy):
        dscores, dgathered = align_pullback(dy)
        dkeys, dparams = key_pullback(xp.matmul(xp.swapaxes(dscores, -1, -2), queries))
        return xp.matmul(dscores, keys), dgathered + dkeys, dparams

    return y, pullback


def _attend_concat(q, states, params, mask):
    xp = array_namespace(q, states, params, mask)
    of_q, of_k = xp.split(params["weight"], [q.shape[-1]], axis=1)
    parts = {"query.weight": of_q, "key.weight": of_k, "score.weight": params["score.weight"]}
    y, additive_pullback = additive_attention(q, states, parts, mask=mask)

    def pullback(dy):
        dq, dstates, dparts = additive_pullback(dy)
        dweight = xp.concatenate([dparts["query.weight"], dparts["key.weight"]], axis=1)
        dparams = {"weight": dweight, "score.weight": dparts["score.weight"]}
        return dq, dstates, keyed_as(dparams, params)

    return y, pullback


def _unmapped(dy):
    return dy, {}


def _check(q, states, params, score, mask):
    check_params(params, KEYS[score])
    check_floating(q=q, states=states, params=params)
    check_rank("q", q, 2)
    check_rank("states", states, 2)
    d_query, d_state = q.shape[-1], states.shape[-1]
    check_shape("states", states, (*q.shape[:-2], None, d_query if score == "dot" else d_state))
    if score == "general":
        check_shape("weight", params["weight"], (d_query, d_state))
    if score == "concat":
        check_shape("weight", params["weight"], (None, d_query + d_state))
        check_shape("score.weight", params["score.weight"], (1, params["weight"].shape[0]))
    check_mask(mask, (*q.shape[:-1], states.shape[-2]))
