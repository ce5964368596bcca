"""Decoder blocks: self-attention, attention to what an encoder made, and feed-forward, each with residual and norm."""

from refimpl.arrays import add_prefix, check_params, check_shape, keyed_as, merge, pick, scope
from refimpl.attention.mask import check_mask
from refimpl.attention.multi_head import OPTIONAL, cross_attention, self_attention
from refimpl.blocks.feed_forward import FEED_KEYS, feed_forward
from refimpl.layers.layer_norm import layer_norm

ATTENTIONS = ("self_attn.", "multihead_attn.")
NORMS = ("norm1.", "norm2.", "norm3.")
REQUIRED_KEYS = (
    *(prefix + key for prefix in ATTENTIONS for key in ("in_proj_weight", "out_proj.weight")),
    "linear1.weight",
    "linear2.weight",
    *(f"{norm}weight" for norm in NORMS),
)
OPTIONAL_KEYS = (
    *(prefix + key for prefix in ATTENTIONS for key in OPTIONAL),
    "linear1.bias",
    "linear2.bias",
    *(f"{norm}bias" for norm in NORMS),
)


def post_norm_decoder_block(
    x, memory, params, *, n_head, activation="relu", eps=1e-5, mask=None, memory_mask=None
):
    """Attend to what was written, then to what is read, and feed forward, normalising after each sum.

    Parameters
    ----------
    x : array, shape (n_batch, n_target, d_model)
        The sequences that are written.
    memory : array, shape (n_batch, n_source, d_model)
        What the encoder made of those that are read.
    params : dict of array
        As `torch.nn.TransformerDecoderLayer`: ``self_attn.*``, ``multihead_attn.*`` (see `multi_head_attention`; the
        second one asks `memory`), ``linear1.*``, ``linear2.*`` (see `feed_forward`), ``norm1.*``, ``norm2.*``,
        ``norm3.*`` (see `layer_norm`).
    n_head : int
        The number of heads, of both attentions.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of all layer norms.
    mask : array of bool, optional
        As for `multi_head_attention`, among the positions of `x`; `refimpl.attention.mask.causal_mask` belongs there.
    memory_mask : array of bool, optional
        The same from `x` to `memory`.

    Returns
    -------
    y : array, shape (n_batch, n_target, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.1.
    """
    _check(x, memory, params, n_head, memory_mask)
    attended, self_pullback = self_attention(x, scope(params, "self_attn."), n_head=n_head, mask=mask)
    mid1, norm1_pullback = layer_norm(x + attended, scope(params, "norm1."), eps=eps)
    asked, cross_pullback = cross_attention(
        mid1, memory, scope(params, "multihead_attn."), n_head=n_head, mask=memory_mask
    )
    mid2, norm2_pullback = layer_norm(mid1 + asked, scope(params, "norm2."), eps=eps)
    fed, feed_pullback = feed_forward(mid2, pick(params, *FEED_KEYS), activation=activation)
    y, norm3_pullback = layer_norm(mid2 + fed, scope(params, "norm3."), eps=eps)

    def pullback(dy):
        dsum3, dnorm3 = norm3_pullback(dy)
        dmid2_fed, dfeed = feed_pullback(dsum3)
        dsum2, dnorm2 = norm2_pullback(dsum3 + dmid2_fed)
        dmid1_asked, dmemory, dcross = cross_pullback(dsum2)
        dsum1, dnorm1 = norm1_pullback(dsum2 + dmid1_asked)
        dx_attended, dself = self_pullback(dsum1)
        return dsum1 + dx_attended, dmemory, _gather((dself, dcross), dfeed, (dnorm1, dnorm2, dnorm3), params)

    return y, pullback


def pre_norm_decoder_block(
    x, memory, params, *, n_head, activation="relu", eps=1e-5, mask=None, memory_mask=None
):
    """Do the same as `post_norm_decoder_block`, normalising before each part, so that the residual path stays clear.

    Parameters
    ----------
    x : array, shape (n_batch, n_target, d_model)
        The sequences that are written.
    memory : array, shape (n_batch, n_source, d_model)
        What the encoder made of those that are read.
    params : dict of array
        As for `post_norm_decoder_block`.
    n_head : int
        The number of heads, of both attentions.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of all layer norms.
    mask : array of bool, optional
        As for `multi_head_attention`, among the positions of `x`; `refimpl.attention.mask.causal_mask` belongs there.
    memory_mask : array of bool, optional
        The same from `x` to `memory`.

    Returns
    -------
    y : array, shape (n_batch, n_target, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dmemory, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    ``norm_first=True`` of `torch.nn.TransformerDecoderLayer`.  The memory is not normalised here: that is the last
    thing its encoder does.

    References
    ----------
    Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745, figure 1 (b).
    """
    _check(x, memory, params, n_head, memory_mask)
    normed1, norm1_pullback = layer_norm(x, scope(params, "norm1."), eps=eps)
    attended, self_pullback = self_attention(normed1, scope(params, "self_attn."), n_head=n_head, mask=mask)
    mid1 = x + attended
    normed2, norm2_pullback = layer_norm(mid1, scope(params, "norm2."), eps=eps)
    asked, cross_pullback = cross_attention(
        normed2, memory, scope(params, "multihead_attn."), n_head=n_head, mask=memory_mask
    )
    mid2 = mid1 + asked
    normed3, norm3_pullback = layer_norm(mid2, scope(params, "norm3."), eps=eps)
    fed, feed_pullback = feed_forward(normed3, pick(params, *FEED_KEYS), activation=activation)
    y = mid2 + fed

    def pullback(dy):
        dnormed3, dfeed = feed_pullback(dy)
        dmid2_normed, dnorm3 = norm3_pullback(dnormed3)
        dmid2 = dy + dmid2_normed  # the residual branch and the feed-forward branch
        dnormed2, dmemory, dcross = cross_pullback(dmid2)
        dmid1_normed, dnorm2 = norm2_pullback(dnormed2)
        dmid1 = dmid2 + dmid1_normed
        dnormed1, dself = self_pullback(dmid1)
        dx_normed, dnorm1 = norm1_pullback(dnormed1)
        return dmid1 + dx_normed, dmemory, _gather((dself, dcross), dfeed, (dnorm1, dnorm2, dnorm3), params)

    return y, pullback


def _gather(dattentions, dfeed, dnorms, params):
    prefixed = [add_prefix(*part) for part in zip((*ATTENTIONS, *NORMS), (*dattentions, *dnorms), strict=True)]
    dparams = merge(*prefixed, dfeed)
    return keyed_as(dparams, params)


def _check(x, memory, params, n_head, memory_mask):
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    check_shape("x", x, (None, None, None))
    check_shape("memory", memory, (x.shape[0], None, None))
    check_mask(memory_mask, (x.shape[0], n_head, x.shape[1], memory.shape[1]), name="memory_mask")
