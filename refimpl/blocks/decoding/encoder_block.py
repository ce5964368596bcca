"""The blocks of `encoder_block` for the next positions of a text whose past is remembered; forward only."""

from refimpl.arrays import check_params, pick, scope
from refimpl.attention.multi_head_decode import self_attention_decode
from refimpl.blocks.encoder_block import OPTIONAL_KEYS, REQUIRED_KEYS
from refimpl.blocks.feed_forward import FEED_KEYS, feed_forward
from refimpl.layers.layer_norm import layer_norm


def post_norm_decode(x, params, past, *, n_head, activation="relu", eps=1e-5, is_token=None):
    """Continue `post_norm_block` by new positions.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `post_norm_block`.
    past : KeyValueCache
        The keys and values of the past.
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of both layer norms.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What `post_norm_block` gives at these positions of the whole text, causally masked.
    KeyValueCache
        The past with the new positions.
    """
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    attended, grown = self_attention_decode(x, scope(params, "self_attn."), past, n_head=n_head, is_token=is_token)
    mid, _ = layer_norm(x + attended, scope(params, "norm1."), eps=eps)
    fed, _ = feed_forward(mid, pick(params, *FEED_KEYS), activation=activation)
    y, _ = layer_norm(mid + fed, scope(params, "norm2."), eps=eps)
    return y, grown


def pre_norm_decode(x, params, past, *, n_head, activation="relu", eps=1e-5, is_token=None):
    """Continue `pre_norm_block` by new positions.

    Parameters
    ----------
    x : array, shape (n_batch, n_new, d_model)
        The new positions.
    params : dict of array
        As for `pre_norm_block`.
    past : KeyValueCache
        The keys and values of the past.
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of both layer norms.
    is_token : array of bool, shape (n_batch, n_new), optional
        False for padding.

    Returns
    -------
    y : array, shape (n_batch, n_new, d_model)
        What `pre_norm_block` gives at these positions of the whole text, causally masked.
    KeyValueCache
        The past with the new positions.
    """
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    normed1, _ = layer_norm(x, scope(params, "norm1."), eps=eps)
    attended, grown = self_attention_decode(
        normed1, scope(params, "self_attn."), past, n_head=n_head, is_token=is_token
    )
    mid = x + attended
    normed2, _ = layer_norm(mid, scope(params, "norm2."), eps=eps)
    fed, _ = feed_forward(normed2, pick(params, *FEED_KEYS), activation=activation)
    return mid + fed, grown
