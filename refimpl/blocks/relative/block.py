"""Transformer-XL's blocks: relative attention over memory and segment, and feed-forward (Dai et al. 2019)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_params,
    check_shape,
    keyed_as,
    merge,
    pick,
    scope,
)
from refimpl.attention.relative.layer import KEYS, relative_self_attention
from refimpl.blocks.feed_forward import FEED_KEYS, feed_forward
from refimpl.layers.layer_norm import layer_norm

REQUIRED_KEYS = (
    *(f"self_attn.{key}" for key in KEYS),
    "linear1.weight",
    "linear2.weight",
    "norm1.weight",
    "norm2.weight",
)
OPTIONAL_KEYS = ("linear1.bias", "linear2.bias", "norm1.bias", "norm2.bias")


def relative_post_norm_block(x, memory, relative, params, *, n_head, eps=1e-5, mask=None):
    """Attend to memory and segment and feed forward, normalising after each residual sum.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The segment.
    memory : array, shape (n_batch, n_memory, d_model)
        What went into this block for earlier segments.
    relative : array, shape (n_memory + n_seq, d_model)
        Encodings of the distances n_memory + n_seq - 1, …, 1, 0.
    params : dict of array
        ``self_attn.*`` (see `relative_self_attention`), ``linear1.*``, ``linear2.*`` (see `feed_forward`),
        ``norm1.*``, ``norm2.*`` (see `layer_norm`).
    n_head : int
        The number of heads.
    eps : float, optional
        The eps of both layer norms.
    mask : array of bool, optional
        As for `relative_self_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new segment.
    pullback : callable
        Maps dy to ``(dx, dmemory, drelative, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 3.3.
    """
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    attended, attention_pullback = relative_self_attention(
        x, memory, relative, scope(params, "self_attn."), n_head=n_head, mask=mask
    )
    mid, norm1_pullback = layer_norm(x + attended, scope(params, "norm1."), eps=eps)
    fed, feed_pullback = feed_forward(mid, pick(params, *FEED_KEYS))
    y, norm2_pullback = layer_norm(mid + fed, scope(params, "norm2."), eps=eps)

    def pullback(dy):
        dsum2, dnorm2 = norm2_pullback(dy)
        dmid_fed, dfeed = feed_pullback(dsum2)
        dsum1, dnorm1 = norm1_pullback(dsum2 + dmid_fed)
        dx_attended, dmemory, drelative, dattention = attention_pullback(dsum1)
        dparams = _gather(dattention, dfeed, dnorm1, dnorm2, params)
        return dsum1 + dx_attended, dmemory, drelative, dparams

    return y, pullback


def relative_pre_norm_block(x, memory, relative, params, *, n_head, eps=1e-5, mask=None):
    """Attend to memory and segment and feed forward, normalising before each, the memory too.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The segment.
    memory : array, shape (n_batch, n_memory, d_model)
        What went into this block for earlier segments, not normalised.
    relative : array, shape (n_memory + n_seq, d_model)
        Encodings of the distances n_memory + n_seq - 1, …, 1, 0.
    params : dict of array
        As for `relative_post_norm_block`.
    n_head : int
        The number of heads.
    eps : float, optional
        The eps of both layer norms.
    mask : array of bool, optional
        As for `relative_self_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new segment.
    pullback : callable
        Maps dy to ``(dx, dmemory, drelative, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    ``pre_lnorm`` of the authors and of `transformers`, which have no norm after the last block either.
    """
    xp = array_namespace(x, memory, relative, params, mask)
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    check_floating(x=x, memory=memory, params=params)
    check_shape("x", x, (None, None, None))
    check_shape("memory", memory, (x.shape[0], None, x.shape[2]))
    n_memory = memory.shape[1]
    normed1, norm1_pullback = layer_norm(xp.concatenate([memory, x], axis=1), scope(params, "norm1."), eps=eps)
    attended, attention_pullback = relative_self_attention(
        normed1[:, n_memory:], normed1[:, :n_memory], relative, scope(params, "self_attn."), n_head=n_head, mask=mask
    )
    mid = x + attended
    normed2, norm2_pullback = layer_norm(mid, scope(params, "norm2."), eps=eps)
    fed, feed_pullback = feed_forward(normed2, pick(params, *FEED_KEYS))
    y = mid + fed

    def pullback(dy):
        dnormed2, dfeed = feed_pullback(dy)
        dmid_normed, dnorm2 = norm2_pullback(dnormed2)
        dmid = dy + dmid_normed  # the residual branch and the feed-forward branch
        dx_normed, dmemory_normed, drelative, dattention = attention_pullback(dmid)
        dboth, dnorm1 = norm1_pullback(xp.concatenate([dmemory_normed, dx_normed], axis=1))
        dparams = _gather(dattention, dfeed, dnorm1, dnorm2, params)
        return dmid + dboth[:, n_memory:], dboth[:, :n_memory], drelative, dparams

    return y, pullback


def _gather(dattention, dfeed, dnorm1, dnorm2, params):
    dparams = merge(
        add_prefix("self_attn.", dattention),
        dfeed,
        add_prefix("norm1.", dnorm1),
        add_prefix("norm2.", dnorm2),
    )
    return keyed_as(dparams, params)
