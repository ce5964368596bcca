"""The decoder block of T5 for the next positions of a target; forward only."""

from refimpl.arrays import check_scopes, scope
from refimpl.blocks.decoding.biased_attention import biased_cross_decode, biased_self_decode
from refimpl.blocks.feed_forward import feed_forward
from refimpl.blocks.gated_feed_forward import gated_feed_forward
from refimpl.blocks.t5_block import DECODER_PARTS
from refimpl.layers.rms_norm import rms_norm


def t5_decoder_decode(
    x, params, past, distances, *, n_head, max_distance, activation="relu", gated=False, eps=1e-6, is_token=None
):
    """Continue `t5_decoder_block` by new positions.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `t5_decoder_block`.
    past : tuple of KeyValueCache
        What the block has written so far, and what it reads (see `remember_unscaled`).
    distances : dict of array
        As for `bucketed_bias`; all blocks share it.
    n_head : int
        The number of heads, of both attentions.
    max_distance : int
        As for `bucketed_bias`.
    activation : str, optional
        The activation of the feed-forward network.
    gated : bool, optional
        Whether the feed-forward network is gated.
    eps : float, optional
        The eps of all norms.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What the block gives at these positions of the whole target, causally masked.
    grown : tuple of KeyValueCache
        The past with the new positions; what is read stays.
    """
    check_scopes(params, DECODER_PARTS)
    written, read = past
    feed = gated_feed_forward if gated else feed_forward
    normed1, _ = rms_norm(x, scope(params, "norm1."), eps=eps)
    attended, grown = biased_self_decode(
        normed1, scope(params, "self_attn."), written, distances, n_head=n_head, max_distance=max_distance,
        is_token=is_token,
    )  # fmt: skip
    mid1 = x + attended
    normed2, _ = rms_norm(mid1, scope(params, "norm2."), eps=eps)
    mid2 = mid1 + biased_cross_decode(normed2, scope(params, "cross_attn."), read, n_head=n_head)
    normed3, _ = rms_norm(mid2, scope(params, "norm3."), eps=eps)
    fed, _ = feed(normed3, scope(params, "feed."), activation=activation)
    return mid2 + fed, (grown, read)
