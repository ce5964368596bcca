"""The blocks of `decoder_block` for the next positions of a target; forward only."""

from refimpl.arrays import check_params, pick, scope
from refimpl.attention.multi_head_decode import cross_attention_decode, self_attention_decode
from refimpl.blocks.decoder_block import OPTIONAL_KEYS, REQUIRED_KEYS
from refimpl.blocks.feed_forward import FEED_KEYS, feed_forward
from refimpl.layers.layer_norm import layer_norm


def post_norm_decoder_decode(x, params, past, *, n_head, activation="relu", eps=1e-5, is_token=None):
    """Continue `post_norm_decoder_block` by new positions.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `post_norm_decoder_block`.
    past : tuple of KeyValueCache
        What the block has written so far, and what it reads (see `remember`).
    n_head : int
        The number of heads, of both attentions.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of all layer norms.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What the block gives at these positions of the whole target, causally masked.
    grown : tuple of KeyValueCache
        The past with the new positions; what is read stays.
    """
    written, read = past
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    attended, grown = self_attention_decode(x, scope(params, "self_attn."), written, n_head=n_head, is_token=is_token)
    mid1, _ = layer_norm(x + attended, scope(params, "norm1."), eps=eps)
    asked = cross_attention_decode(mid1, scope(params, "multihead_attn."), read, n_head=n_head)
    mid2, _ = layer_norm(mid1 + asked, scope(params, "norm2."), eps=eps)
    fed, _ = feed_forward(mid2, pick(params, *FEED_KEYS), activation=activation)
    y, _ = layer_norm(mid2 + fed, scope(params, "norm3."), eps=eps)
    return y, (grown, read)


def pre_norm_decoder_decode(x, params, past, *, n_head, activation="relu", eps=1e-5, is_token=None):
    """Continue `pre_norm_decoder_block` by new positions.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `pre_norm_decoder_block`.
    past : tuple of KeyValueCache
        What the block has written so far, and what it reads (see `remember`).
    n_head : int
        The number of heads, of both attentions.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of all layer norms.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What the block gives at these positions of the whole target, causally masked.
    grown : tuple of KeyValueCache
        The past with the new positions; what is read stays.
    """
    written, read = past
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    normed1, _ = layer_norm(x, scope(params, "norm1."), eps=eps)
    attended, grown = self_attention_decode(
        normed1, scope(params, "self_attn."), written, n_head=n_head, is_token=is_token
    )
    mid1 = x + attended
    normed2, _ = layer_norm(mid1, scope(params, "norm2."), eps=eps)
    mid2 = mid1 + cross_attention_decode(normed2, scope(params, "multihead_attn."), read, n_head=n_head)
    normed3, _ = layer_norm(mid2, scope(params, "norm3."), eps=eps)
    fed, _ = feed_forward(normed3, pick(params, *FEED_KEYS), activation=activation)
    return mid2 + fed, (grown, read)
