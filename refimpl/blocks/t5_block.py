"""The blocks of T5: pre-norm with RMS norms, unscaled attention with a bias, and no other bias at all."""

from refimpl.arrays import add_prefix, check_scopes, check_shape, keyed_as, merge, scope
from refimpl.attention.biased_layer import biased_attention
from refimpl.attention.mask import check_mask
from refimpl.blocks.feed_forward import feed_forward
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.layers.rms_norm import rms_norm

ENCODER_PARTS = ("norm1.", "self_attn.", "norm2.", "feed.")
DECODER_PARTS = ("norm1.", "self_attn.", "norm2.", "cross_attn.", "norm3.", "feed.")


def t5_encoder_block(x, bias, params, *, n_head, activation="relu", gated=False, eps=1e-6, mask=None):
    """Attend and feed forward, each added to its input.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    bias : array, broadcasts to (n_batch, n_head, n_seq, n_seq)
        What distances add to the scores; all blocks share it.
    params : dict of array
        ``norm1.weight`` and ``norm2.weight`` (see `rms_norm`), ``self_attn.*`` (see `biased_attention`) and ``feed.*``
        (see `feed_forward`, or `gated_feed_forward`).
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    gated : bool, optional
        Whether the feed-forward network is gated, as in T5 1.1.
    eps : float, optional
        The eps of both norms.
    mask : array of bool, optional
        As for `biased_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dbias, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    check_scopes(params, ENCODER_PARTS)
    feed = gated_feed_forward if gated else feed_forward
    normed1, norm1_pullback = rms_norm(x, scope(params, "norm1."), eps=eps)
    attended, self_pullback = biased_attention(
        normed1, normed1, bias, scope(params, "self_attn."), n_head=n_head, mask=mask
    )
    mid = x + attended
    normed2, norm2_pullback = rms_norm(mid, scope(params, "norm2."), eps=eps)
    fed, feed_pullback = feed(normed2, scope(params, "feed."), activation=activation)
    y = mid + fed

    def pullback(dy):
        dnormed2, dfeed = feed_pullback(dy)
        dmid_normed, dnorm2 = norm2_pullback(dnormed2)
        dmid = dy + dmid_normed  # the residual branch and the feed-forward branch
        dasking, dasked, dbias, dself = self_pullback(dmid)
        dx_normed, dnorm1 = norm1_pullback(dasking + dasked)
        return dmid + dx_normed, dbias, _gather(ENCODER_PARTS, (dnorm1, dself, dnorm2, dfeed), params)

    return y, pullback


def t5_decoder_block(
    x, memory, bias, params, *, n_head, activation="relu", gated=False, eps=1e-6, mask=None, memory_mask=None
):
    """Attend to what was written, then to what was read, and feed forward, each added to its input.

    Parameters
    ----------
    x : array, shape (n_batch, n_target, d_model)
        The sequences that are written.
    memory : array, shape (n_batch, n_source, d_model)
        What the encoder made of those that are read.
    bias : array, broadcasts to (n_batch, n_head, n_target, n_target)
        What distances in the target add to the scores; all blocks share it.
    params : dict of array
        Those of `t5_encoder_block`, whose ``norm2.*`` is here before ``cross_attn.*`` (see `biased_attention`), and
        ``norm3.weight`` before ``feed.*``.
    n_head : int
        The number of heads, of both attentions.
    activation : str, optional
        The activation of the feed-forward network.
    gated : bool, optional
        Whether the feed-forward network is gated, as in T5 1.1.
    eps : float, optional
        The eps of all norms.
    mask : array of bool, optional
        As for `biased_attention`; `refimpl.attention.mask.causal_mask` belongs there.
    memory_mask : array of bool, optional
        The same from `x` to `memory`.

    Returns
    -------
    y : array, shape (n_batch, n_target, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dmemory, dbias, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    Distances between target and source add nothing: they have no bias.

    References
    ----------
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", arXiv:1910.10683, section 2.1.
    """
    check_scopes(params, DECODER_PARTS)
    check_shape("x", x, (None, None, None))
    check_shape("memory", memory, (x.shape[0], None, None))
    check_mask(memory_mask, (x.shape[0], n_head, x.shape[1], memory.shape[1]), name="memory_mask")
    feed = gated_feed_forward if gated else feed_forward
    normed1, norm1_pullback = rms_norm(x, scope(params, "norm1."), eps=eps)
    attended, self_pullback = biased_attention(
        normed1, normed1, bias, scope(params, "self_attn."), n_head=n_head, mask=mask
    )
    mid1 = x + attended
    normed2, norm2_pullback = rms_norm(mid1, scope(params, "norm2."), eps=eps)
    asked, cross_pullback = biased_attention(
        normed2, memory, None, scope(params, "cross_attn."), n_head=n_head, mask=memory_mask
    )
    mid2 = mid1 + asked
    normed3, norm3_pullback = rms_norm(mid2, scope(params, "norm3."), eps=eps)
    fed, feed_pullback = feed(normed3, scope(params, "feed."), activation=activation)
    y = mid2 + fed

    def pullback(dy):
        dnormed3, dfeed = feed_pullback(dy)
        dmid2_normed, dnorm3 = norm3_pullback(dnormed3)
        dmid2 = dy + dmid2_normed  # the residual branch and the feed-forward branch
        dnormed2, dmemory, dcross = cross_pullback(dmid2)
        dmid1_normed, dnorm2 = norm2_pullback(dnormed2)
        dmid1 = dmid2 + dmid1_normed
        dasking, dasked, dbias, dself = self_pullback(dmid1)
        dx_normed, dnorm1 = norm1_pullback(dasking + dasked)
        dparts = (dnorm1, dself, dnorm2, dcross, dnorm3, dfeed)
        return dmid1 + dx_normed, dmemory, dbias, _gather(DECODER_PARTS, dparts, params)

    return y, pullback


def _gather(parts, dparts, params):
    dparams = merge(*(add_prefix(part, dpart) for part, dpart in zip(parts, dparts, strict=True)))
    return keyed_as(dparams, params)
