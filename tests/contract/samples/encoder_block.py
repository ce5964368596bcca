"""An encoder block, whose backward is its forward read upwards: a correct sample of a composite."""

from refimpl.arrays import add_prefix, merge, scope
from refimpl.attention.multi_head import self_attention
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.layer_norm import layer_norm


def encoder_block(x, params, *, n_head, mask=None):
    """Attend and feed forward, normalising before each.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    params : dict of array
        ``norm1.*``, ``self_attn.*``, ``norm2.*`` and ``feed.*``.
    n_head : int
        The number of heads.
    mask : array of bool, optional
        True where a position attends.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dparams)``.
    """
    normed1, norm1_pullback = layer_norm(x, scope(params, "norm1."))
    attended, attn_pullback = self_attention(normed1, scope(params, "self_attn."), n_head=n_head, mask=mask)
    mid = x + attended
    normed2, norm2_pullback = layer_norm(mid, scope(params, "norm2."))
    fed, feed_pullback = feed_forward(normed2, scope(params, "feed."))
    y = mid + fed

    def pullback(dy):
        dnormed2, dfeed = feed_pullback(dy)
        dmid_norm, dnorm2 = norm2_pullback(dnormed2)
        dmid = dy + dmid_norm  # the residual branch and the feed-forward branch
        dnormed1, dattn = attn_pullback(dmid)
        dx_norm, dnorm1 = norm1_pullback(dnormed1)
        dnorms = merge(add_prefix("norm1.", dnorm1), add_prefix("norm2.", dnorm2))
        return dmid + dx_norm, merge(dnorms, add_prefix("self_attn.", dattn), add_prefix("feed.", dfeed))

    return y, pullback
