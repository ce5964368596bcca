"""Encoder blocks: self-attention and feed-forward, each with a residual connection and a layer norm."""

from refimpl.arrays import add_prefix, check_params, keyed_as, merge, pick, scope
from refimpl.attention.multi_head import OPTIONAL, self_attention
from refimpl.blocks.feed_forward import FEED_KEYS, feed_forward
from refimpl.layers.layer_norm import layer_norm

REQUIRED_KEYS = (
    "self_attn.in_proj_weight",
    "self_attn.out_proj.weight",
    "linear1.weight",
    "linear2.weight",
    "norm1.weight",
    "norm2.weight",
)
OPTIONAL_KEYS = (
    *(f"self_attn.{key}" for key in OPTIONAL),
    "linear1.bias",
    "linear2.bias",
    "norm1.bias",
    "norm2.bias",
)


def post_norm_block(x, params, *, n_head, activation="relu", eps=1e-5, mask=None, attend=None):
    """Attend and feed forward, normalising after each residual sum, as in the original Transformer and BERT.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    params : dict of array
        As `torch.nn.TransformerEncoderLayer`: ``self_attn.*`` (see `multi_head_attention`), ``linear1.*``,
        ``linear2.*`` (see `feed_forward`), ``norm1.*``, ``norm2.*`` (see `layer_norm`).
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of both layer norms.
    mask : array of bool, optional
        As for `multi_head_attention`.
    attend : callable, optional
        As for `multi_head_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.1.
    """
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    attended, attention_pullback = self_attention(
        x, scope(params, "self_attn."), n_head=n_head, mask=mask, attend=attend
    )
    mid, norm1_pullback = layer_norm(x + attended, scope(params, "norm1."), eps=eps)
    fed, feed_pullback = feed_forward(mid, pick(params, *FEED_KEYS), activation=activation)
    y, norm2_pullback = layer_norm(mid + fed, scope(params, "norm2."), eps=eps)

    def pullback(dy):
        dsum2, dnorm2 = norm2_pullback(dy)
        dmid_fed, dfeed = feed_pullback(dsum2)
        dmid = dsum2 + dmid_fed  # the residual branch and the feed-forward branch
        dsum1, dnorm1 = norm1_pullback(dmid)
        dx_attended, dattention = attention_pullback(dsum1)
        return dsum1 + dx_attended, _gather(dattention, dfeed, dnorm1, dnorm2, params)

    return y, pullback


def pre_norm_block(x, params, *, n_head, activation="relu", eps=1e-5, mask=None, attend=None):
    """Attend and feed forward, normalising before each, so that the residual path stays clear.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The sequences.
    params : dict of array
        As for `post_norm_block`.
    n_head : int
        The number of heads.
    activation : str, optional
        The activation of the feed-forward network.
    eps : float, optional
        The eps of both layer norms.
    mask : array of bool, optional
        As for `multi_head_attention`.
    attend : callable, optional
        As for `multi_head_attention`.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The new sequences.
    pullback : callable
        Maps dy to ``(dx, dparams)``.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.

    Notes
    -----
    ``norm_first=True`` of `torch.nn.TransformerEncoderLayer`.

    References
    ----------
    Xiong et al. (2020), "On Layer Normalization in the Transformer Architecture", arXiv:2002.04745, figure 1 (b).
    """
    check_params(params, REQUIRED_KEYS, OPTIONAL_KEYS)
    normed1, norm1_pullback = layer_norm(x, scope(params, "norm1."), eps=eps)
    attended, attention_pullback = self_attention(
        normed1, scope(params, "self_attn."), n_head=n_head, mask=mask, attend=attend
    )
    mid = x + attended
    normed2, norm2_pullback = layer_norm(mid, scope(params, "norm2."), eps=eps)
    fed, feed_pullback = feed_forward(normed2, pick(params, *FEED_KEYS), activation=activation)
    y = mid + fed

    def pullback(dy):
        dnormed2, dfeed = feed_pullback(dy)
        dmid_normed, dnorm2 = norm2_pullback(dnormed2)
        dmid = dy + dmid_normed  # the residual branch and the feed-forward branch
        dnormed1, dattention = attention_pullback(dmid)
        dx_normed, dnorm1 = norm1_pullback(dnormed1)
        return dmid + dx_normed, _gather(dattention, dfeed, dnorm1, dnorm2, params)

    return y, pullback


def _gather(dattention, dfeed, dnorm1, dnorm2, params):
    dparams = merge(
        add_prefix("self_attn.", dattention),
        dfeed,
        add_prefix("norm1.", dnorm1),
        add_prefix("norm2.", dnorm2),
    )
    return keyed_as(dparams, params)
