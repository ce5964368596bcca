"""The experts of a mixture, once it is known which tokens go where."""

from refimpl.arrays import array_namespace, check_floating, check_shape
from refimpl.blocks.feed_forward import feed_forward
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.blocks.mixture.dispatch import combine, dispatch, token_slots
from refimpl.blocks.mixture.expert_linear import expert_linear


def routed_experts(x, weights, params, *, chosen, capacity=None, activation="silu", gated=True):
    """Feed every token through the experts that were chosen for it, and add up what they say.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        Tokens.
    weights : array, shape (n_batch, n_seq, n_expert)
        How much an expert counts for a token.
    params : dict of array
        The keys of `gated_feed_forward` or `feed_forward`, each with a first axis of n_expert.
    chosen : array of bool, shape (n_batch, n_seq, n_expert)
        Which experts a token goes to.
    capacity : int, optional
        How many tokens of a sequence an expert takes; those that come later are dropped.  By default as many as come.
    activation : str, optional
        Of the experts.
    gated : bool, optional
        Whether the experts are gated.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The weighted sums; 0 for a token that no expert takes.
    pullback : callable
        Maps dy to ``(dx, dweights, dparams)``; weights of experts that were not chosen have gradient 0.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    References
    ----------
    Shazeer et al. (2017), "Outrageously Large Neural Networks", arXiv:1701.06538, eq. 1; Fedus, Zoph, Shazeer (2021),
    "Switch Transformers", arXiv:2101.03961, section 2.2 (the capacity).
    """
    array_namespace(x, weights, params, chosen)
    check_floating(x=x, weights=weights)
    check_shape("x", x, (None, None, None))
    check_shape("weights", weights, (*x.shape[:2], None))
    check_shape("chosen", chosen, weights.shape)
    network = gated_feed_forward if gated else feed_forward

    ids, filled = token_slots(chosen, capacity=capacity)
    slots, dispatch_pullback = dispatch(x, ids)
    fed, network_pullback = network(slots, params, activation=activation, project=expert_linear)
    y, combine_pullback = combine(fed, weights, ids=ids, filled=filled)

    def pullback(dy):
        dfed, dweights = combine_pullback(dy)
        dslots, dparams = network_pullback(dfed)
        (dx,) = dispatch_pullback(dslots)
        return dx, dweights, dparams

    return y, pullback
