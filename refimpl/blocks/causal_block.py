"""The block of decoder-only models: norm, attention, norm, feed-forward, one after the other or side by side."""

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

PARTS = ("norm1.", "self_attn.", "norm2.", "feed.")


def causal_block(x, params, *, norm, attend, feed, parallel=False):
    """Attend and feed forward, normalising before each; the parts are handed in.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    params : dict of array
        ``norm1.*``, ``self_attn.*``, ``norm2.*`` and ``feed.*``, with the keys of the parts.
    norm : callable
        ``norm(x, params) -> (y, pullback)``, such as `rms_norm` with its settings.
    attend, feed : callable
        ``part(x, params) -> ((y, *told), pullback)``: beside its output a part may tell something, such as the
        logits of a router, or the cache that it has extended.
    parallel : bool, optional
        Whether the feed-forward network reads what attention reads, as in GPT-J and GPT-NeoX, and not what it wrote.

    Returns
    -------
    y : tuple of array
        The new sequences, shape (n_batch, n_seq, d_model), and what the parts tell.
    pullback : callable
        Maps as many dy, of which what was told may have None (0), to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a parameter lies outside the four parts, or does not fit its own.

    References
    ----------
    Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745, figure 1 (b).
    Wang, Komatsuzaki (2021), "GPT-J-6B" (the parallel form); Black et al. (2022), "GPT-NeoX-20B", arXiv:2204.06745,
    section 2.1.
    """
    array_namespace(x, params)
    check_scopes(params, PARTS)
    check_floating(x=x, params=params)
    normed1, norm1_pullback = norm(x, scope(params, "norm1."))
    (attended, *told1), attend_pullback = attend(normed1, scope(params, "self_attn."))
    check_shape("self_attn(...)", attended, x.shape)
    mid = x + attended
    normed2, norm2_pullback = norm(x if parallel else mid, scope(params, "norm2."))
    (fed, *told2), feed_pullback = feed(normed2, scope(params, "feed."))
    y = mid + fed

    def pullback(dy):
        check_gradients(dy, (x, *told1, *told2), none=range(1, 1 + len(told1) + len(told2)))
        dsum, dtold1, dtold2 = dy[0], dy[1 : 1 + len(told1)], dy[1 + len(told1) :]
        dnormed2, dfeed = feed_pullback((dsum, *dtold2))
        dread, dnorm2 = norm2_pullback(dnormed2)
        dmid = dsum if parallel else dsum + dread  # the residual branch and the feed-forward branch
        dnormed1, dattend = attend_pullback((dmid, *dtold1))
        dx_attended, dnorm1 = norm1_pullback(dnormed1)
        dx = add_gradients(dmid, dx_attended, dread if parallel else None)
        dparts = zip(PARTS, (dnorm1, dattend, dnorm2, dfeed), strict=True)
        dparams = merge(*(add_prefix(prefix, dpart) for prefix, dpart in dparts))
        return dx, keyed_as(dparams, params)

    return (y, *told1, *told2), pullback
