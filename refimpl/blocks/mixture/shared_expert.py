"""An expert that every token goes to, beside those it is routed to (DeepSeekMoE, Qwen2Moe)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradient,
    check_scopes,
    keyed_as,
    merge,
    scope,
)
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.layers.linear import linear
from refimpl.layers.sigmoid import sigmoid

OPENING = "opening."
NETWORK = "network."


def shared_expert(x, params, *, activation="silu"):
    """Feed every token forward, as far as it asks for it.

    Parameters
    ----------
    x : array, shape (..., d_model)
        Tokens.
    params : dict of array
        ``network.*``: see `gated_feed_forward`; and optionally ``opening.weight`` (1, d_model), by which a token says
        how much of it it wants.
    activation : str, optional
        Of the network.

    Returns
    -------
    y : array, shape (..., d_model)
        ``network(x)``, or ``sigmoid(x opening') * network(x)``.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Dai et al. (2024), "DeepSeekMoE", arXiv:2401.06066, section 3.2; the sigmoid is Qwen2Moe's.
    """
    xp = array_namespace(x, params)
    check_scopes(params, (NETWORK, OPENING))
    check_floating(x=x, params=params)
    fed, network_pullback = gated_feed_forward(x, scope(params, NETWORK), activation=activation)
    is_opened = f"{OPENING}weight" in params
    wish, wish_pullback = linear(x, scope(params, OPENING)) if is_opened else (None, None)
    opened, sigmoid_pullback = sigmoid(wish) if is_opened else (1.0, None)  # (..., 1)
    y = opened * fed

    def pullback(dy):
        check_gradient(dy, fed.shape, fed.dtype)
        dx, dnetwork = network_pullback(opened * dy)
        if not is_opened:
            return dx, add_prefix(NETWORK, dnetwork)
        (dwish,) = sigmoid_pullback(xp.sum(dy * fed, axis=-1, keepdims=True))
        dx_wish, dopening = wish_pullback(dwish)
        dparams = merge(add_prefix(NETWORK, dnetwork), add_prefix(OPENING, dopening))
        return dx + dx_wish, keyed_as(dparams, params)

    return y, pullback
