"""Gather an encoder's states by scores, and tell the weights: what additive and multiplicative attention share."""

from refimpl.arrays import array_namespace, check_floating, check_gradients, check_rank, check_shape
from refimpl.attention.mask import blank_unattended, check_mask
from refimpl.layers.softmax import softmax


def align(scores, states, *, mask=None):
    """Weigh states by the softmax of their scores, and add them up.

    Parameters
    ----------
    scores : array, shape (..., n_query, n_key)
        How well each state fits each query.
    states : array, shape (..., n_key, d_state)
        What is gathered.
    mask : array of bool, broadcasts to (..., n_query, n_key), optional
        True where a query attends to a state.

    Returns
    -------
    y : tuple of array
        What was gathered, (..., n_query, d_state), and the weights, (..., n_query, n_key), which say what was aligned
        with what; both are 0 where a query attends to nothing.
    pullback : callable
        Maps ``(dgathered, dweights)`` to ``(dscores, dstates)``.

    Raises
    ------
    ValueError
        If a shape does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.
    """
    xp = array_namespace(scores, states, mask)
    check_floating(scores=scores, states=states)
    check_rank("scores", scores, 2)
    check_shape("states", states, (*scores.shape[:-2], scores.shape[-1], None))
    check_mask(mask, scores.shape)
    values = blank_unattended(states, mask, axis=-2)
    weights, softmax_pullback = softmax(scores, mask=mask)
    gathered = xp.matmul(weights, values)

    def pullback(dy):
        check_gradients(dy, (gathered, weights))
        dgathered, dweights = dy
        (dscores,) = softmax_pullback(dweights + xp.matmul(dgathered, xp.swapaxes(values, -1, -2)))
        dstates = xp.matmul(xp.swapaxes(weights, -1, -2), dgathered)
        return dscores, dstates

    return (gathered, weights), pullback
