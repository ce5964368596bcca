"""Experts that choose their tokens, so that all have the same to do (Zhou et al. 2022, arXiv:2202.09368)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_setting,
    check_shape,
    integer,
    keyed_as,
    merge,
    scope,
)
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.mixture.largest import largest
from refimpl.blocks.mixture.routed_experts import routed_experts
from refimpl.layers.linear import linear
from refimpl.layers.softmax import softmax

PARTS = ("router.", "experts.")


def expert_choice(x, params, *, capacity, activation="silu", gated=True):
    """Let every expert take the tokens of a sequence that lean most towards it, and add up what comes of it.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        Tokens.
    params : dict of array
        ``router.*`` (see `linear`) and ``experts.*`` (see `routed_experts`).
    capacity : int
        How many tokens of a sequence an expert takes, at most n_seq.
    activation : str, optional
        Of the experts.
    gated : bool, optional
        Whether the experts are gated.

    Returns
    -------
    y : tuple of array
        The sums, shape (n_batch, n_seq, d_model), 0 for a token that nobody took; and the logits of the router,
        (n_batch, n_seq, n_expert).
    pullback : callable
        Maps ``(dy, dlogits)``, of which the second may be None (0), to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    Which tokens an expert takes depends on those that come later: it cannot be used where the future is not known.  Of
    equal tokens the first are taken.  No loss is needed to balance the experts.

    References
    ----------
    Zhou et al. (2022), "Mixture-of-Experts with Expert Choice Routing", arXiv:2202.09368, section 3.2.
    """
    xp = array_namespace(x, params)
    check_scopes(params, PARTS)
    check_floating(x=x, params=params)
    check_shape("x", x, (None, None, None))
    n_seq = x.shape[1]
    integer("capacity", capacity, at_least=0)
    check_setting("capacity", capacity, capacity <= n_seq, f"at most {n_seq}, the number of tokens")

    logits, logits_pullback = linear(x, scope(params, "router."))
    weights, softmax_pullback = softmax(logits)
    chosen = xp.swapaxes(largest(xp.swapaxes(weights, 1, 2), capacity), 1, 2)
    taken = {"chosen": chosen, "capacity": capacity, "activation": activation, "gated": gated}
    y, experts_pullback = routed_experts(x, weights, scope(params, "experts."), **taken)

    def pullback(dy):
        check_gradients(dy, (x, logits), none=(1,))
        dsum, dlogits_here = dy
        dx_fed, dweights, dexperts = experts_pullback(dsum)
        (dlogits,) = softmax_pullback(dweights)
        dx_routed, drouter = logits_pullback(add_gradients(dlogits, dlogits_here))
        dparams = merge(add_prefix("router.", drouter), add_prefix("experts.", dexperts))
        return dx_fed + dx_routed, keyed_as(dparams, params)

    return (y, logits), pullback
