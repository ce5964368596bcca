"""Cross-attention behind a gate that is shut at first (Alayrac et al. 2022, arXiv:2204.14198, figure 4)."""

from refimpl.arrays import (
    add_prefix,
    array_namespace,
    check_floating,
    check_gradient,
    check_params,
    check_scopes,
    check_shape,
    keyed_as,
    merge,
    pick,
    scope,
)
from refimpl.attention.mask import check_mask
from refimpl.attention.multi_head import cross_attention
from refimpl.blocks.feed_forward import feed_forward
from refimpl.layers.layer_norm import layer_norm
from refimpl.layers.tanh import tanh

GATES = ("attention_gate", "feed_gate")
FEED = ("linear1.", "linear2.")
SCOPES = ("norm1.", "cross_attn.", "norm2.")


def gated_cross_block(x, memory, params, *, n_head, activation="squared_relu", eps=1e-5, memory_mask=None):
    """Ask another sequence and feed forward, each as far as its gate is open.

    Parameters
    ----------
    x : array, shape (n_batch, n_query, d_model)
        The sequences.
    memory : array, shape (n_batch, n_key, d_memory)
        What is asked, such as what a `perceiver_resampler` made of images.
    params : dict of array
        ``attention_gate`` and ``feed_gate`` (), ``norm1.*`` and ``norm2.*`` (see `layer_norm`), ``cross_attn.*`` (see
        `multi_head_attention`), ``linear1.*`` and ``linear2.*`` (see `feed_forward`).
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of both layer norms.
    memory_mask : array of bool, optional
        As for `multi_head_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_query, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    A gate opens by the tanh of its parameter.  With 0, as before training, the block changes nothing: a language model
    into which it is put still says what it said.

    References
    ----------
    Alayrac et al. (2022), "Flamingo", arXiv:2204.14198, section 2.2 and figure 4.
    """
    xp = array_namespace(x, memory, params, memory_mask)
    _check(x, memory, params, n_head, memory_mask)
    feed = {key: params[key] for key in params if key.startswith(FEED)}
    attention_gate, attention_gate_pullback = tanh(params["attention_gate"])
    feed_gate, feed_gate_pullback = tanh(params["feed_gate"])
    normed1, norm1_pullback = layer_norm(x, scope(params, "norm1."), eps=eps)
    asked, cross_pullback = cross_attention(
        normed1, memory, scope(params, "cross_attn."), n_head=n_head, mask=memory_mask
    )
    mid = x + asked * attention_gate
    normed2, norm2_pullback = layer_norm(mid, scope(params, "norm2."), eps=eps)
    fed, feed_pullback = feed_forward(normed2, feed, activation=activation)
    y = mid + fed * feed_gate

    def pullback(dy):
        check_gradient(dy, fed.shape, fed.dtype)
        (dfeed_gate,) = feed_gate_pullback(xp.sum(dy * fed, axis=(0, 1, 2)))
        dnormed2, dfeed = feed_pullback(dy * feed_gate)
        dmid_normed, dnorm2 = norm2_pullback(dnormed2)
        dmid = dy + dmid_normed  # the residual branch and the feed-forward branch
        (dattention_gate,) = attention_gate_pullback(xp.sum(dmid * asked, axis=(0, 1, 2)))
        dnormed1, dmemory, dcross = cross_pullback(dmid * attention_gate)
        dx_normed, dnorm1 = norm1_pullback(dnormed1)
        dgates = dict(zip(GATES, (dattention_gate, dfeed_gate), strict=True))
        dparts = zip(SCOPES, (dnorm1, dcross, dnorm2), strict=True)
        dparams = merge(dgates, dfeed, *(add_prefix(prefix, dpart) for prefix, dpart in dparts))
        return dmid + dx_normed, dmemory, keyed_as(dparams, params)

    return y, pullback


def _check(x, memory, params, n_head, memory_mask):
    check_scopes(params, (*GATES, *SCOPES, *FEED))
    check_params(pick(params, *GATES), GATES)
    check_floating(x=x, memory=memory, params=params)
    for gate in GATES:
        check_shape(gate, params[gate], ())
    check_shape("x", x, (None, None, None))
    check_shape("memory", memory, (x.shape[0], None, None))
    check_mask(memory_mask, (x.shape[0], n_head, x.shape[1], memory.shape[1]), name="memory_mask")
