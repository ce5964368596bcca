"""A mixture of experts: a router sends every token to a few of many feed-forward networks (Shazeer et al. 2017)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradients,
    check_scopes,
    check_shape,
    keyed_as,
    merge,
    scope,
)
from refimpl.blocks.encoder import add_gradients
from refimpl.blocks.mixture.largest import largest
from refimpl.blocks.mixture.routed_experts import routed_experts
from refimpl.blocks.mixture.router import router
from refimpl.blocks.mixture.shared_expert import shared_expert

PARTS = ("router.", "experts.", "shared.")


def mixture_of_experts(
    x, noise, params, *, n_chosen, softmax_over="chosen", capacity=None, activation="silu", gated=True
):  # fmt: skip
    """Send every token to a few experts, and add up what they say.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        Tokens.
    noise : array, shape (n_batch, n_seq, n_expert), or None
        Of the router.
    params : dict of array
        ``router.*`` (see `router`), ``experts.*`` (see `routed_experts`), and ``shared.*`` (see `shared_expert`) if
        there is an expert for all.
    n_chosen : int
        How many experts a token goes to: 1 in Switch, 2 in Mixtral.
    softmax_over : {"all", "chosen"}, optional
        Of the router.
    capacity : int, optional
        Of the experts.  A token that all its experts drop has output 0: the residual connection carries it on.
    activation : str, optional
        Of the experts.
    gated : bool, optional
        Whether the experts are gated; the shared one always is.

    Returns
    -------
    y : tuple of array
        The sums, shape (n_batch, n_seq, d_model); and the logits of the router, (n_batch, n_seq, n_expert), from which
        `refimpl.blocks.mixture.losses` makes losses.
    pullback : callable
        Maps ``(dy, dlogits)``, of which the second may be None (0), to ``(dx, dnoise, dparams)``,
        without dnoise where there is no noise.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, not of one dtype, or not of one library.

    Notes
    -----
    The capacity is counted by sequence, as in `transformers`; in the paper by all tokens of a device.  Neither the
    choice nor the dropping has a gradient: the router learns from the weights alone.

    References
    ----------
    Shazeer et al. (2017), "Outrageously Large Neural Networks", arXiv:1701.06538, section 2.
    Fedus, Zoph, Shazeer (2021), "Switch Transformers", arXiv:2101.03961, section 2.
    Jiang et al. (2024), "Mixtral of Experts", arXiv:2401.04088, section 2.1.
    """
    array_namespace(x, noise, params)
    check_scopes(params, PARTS)
    check_floating(x=x, params=params)
    check_shape("x", x, (None, None, None))
    routing = {"n_chosen": n_chosen, "softmax_over": softmax_over}
    (weights, logits), router_pullback = router(x, noise, scope(params, "router."), **routing)
    taken = {"chosen": largest(logits, n_chosen), "capacity": capacity, "activation": activation, "gated": gated}
    said, experts_pullback = routed_experts(x, weights, scope(params, "experts."), **taken)
    shared = scope(params, "shared.")
    said_to_all, shared_pullback = shared_expert(x, shared, activation=activation) if shared else (None, _nothing)
    y = said + said_to_all if shared else said

    def pullback(dy):
        check_gradients(dy, (x, logits), none=(1,))
        dsum, dlogits = dy
        dx_shared, dshared = shared_pullback(dsum)
        dx_fed, dweights, dexperts = experts_pullback(dsum)
        dx_routed, *dnoise, drouter = router_pullback((dweights, dlogits))
        dparts = zip(PARTS, (drouter, dexperts, dshared), strict=True)
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts))
        return add_gradients(dx_fed, dx_routed, dx_shared), *dnoise, keyed_as(dparams, params)

    return (y, logits), pullback


def _nothing(dy):
    return None, {}
