"""Self-attention over a segment and the memory before it (Transformer-XL; Dai et al. 2019, section 3.3)."""

from refimpl.arrays import array_namespace, check_floating, check_params, check_setting, check_shape, keyed_as, scope
from refimpl.attention.heads import join_heads, split_heads
from refimpl.attention.relative.attention import relative_attention
from refimpl.layers.linear import linear

KEYS = ("qkv_net.weight", "r_net.weight", "o_net.weight", "r_w_bias", "r_r_bias")


def relative_self_attention(x, memory, relative, params, *, n_head, mask=None):
    """Let a segment attend to itself and to what was remembered before it.

    Parameters
    ----------
    x : array, shape (n_batch, n_seq, d_model)
        The segment.
    memory : array, shape (n_batch, n_memory, d_model)
        States of earlier segments, longer or shorter than this one, or of length 0.
    relative : array, shape (n_memory + n_seq, d_model)
        Encodings of the distances n_memory + n_seq - 1, …, 1, 0, farthest first.
    params : dict of array
        As ``RelPartialLearnableMultiHeadAttn`` of the authors: ``qkv_net.weight`` (3 n_head d_head, d_model),
        ``r_net.weight`` (n_head d_head, d_model), ``o_net.weight`` (d_model, n_head d_head), and the biases
        ``r_w_bias`` of the content and ``r_r_bias`` of the position, each (n_head, d_head).
    n_head : int
        The number of heads.
    mask : array of bool, broadcasts to (n_batch, n_head, n_seq, n_memory + n_seq), optional
        True where a query attends to a key, besides the causal mask, which always applies.

    Returns
    -------
    y : array, shape (n_batch, n_seq, d_model)
        The mixed heads, before the residual sum and the norm that the authors' module adds.
    pullback : callable
        Maps dy to ``(dx, dmemory, drelative, dparams)``.  Training stops at the memory: drop dmemory.

    Raises
    ------
    ValueError
        If a shape, a setting or a parameter name does not fit.
    TypeError
        If the arrays are not floating, the mask not boolean, or dtypes or libraries differ.

    Notes
    -----
    Keys and values that may hold NaN must be masked for every query, and be in the memory: the segment asks too.

    References
    ----------
    Dai et al. (2019), "Transformer-XL", arXiv:1901.02860, section 3.3.
    """
    xp = array_namespace(x, memory, relative, params, mask)
    _check(x, memory, relative, params, n_head)
    n_memory, d_inner = memory.shape[1], params["o_net.weight"].shape[1]
    both = xp.concatenate([memory, x], axis=1)  # (n_batch, n_memory + n_seq, d_model)
    qkv, qkv_pullback = linear(both, scope(params, "qkv_net."))
    q, k, v = (split_heads(part, n_head) for part in xp.split(qkv, [d_inner, 2 * d_inner], axis=-1))
    projected, r_pullback = linear(relative[None], scope(params, "r_net."))
    r = split_heads(projected, n_head)[0]  # (n_head, n_memory + n_seq, d_head)
    gathered, attention_pullback = relative_attention(
        q[:, :, n_memory:], k, v, r, params["r_w_bias"], params["r_r_bias"], mask=mask
    )
    y, out_pullback = linear(join_heads(gathered), scope(params, "o_net."))

    def pullback(dy):
        djoined, dout = out_pullback(dy)
        dq, dk, dv, dr, dcontent_bias, dposition_bias = attention_pullback(split_heads(djoined, n_head))
        drelative, dr_net = r_pullback(join_heads(dr[None]))
        # What stands in the memory asks nothing.
        dasked = xp.concatenate([xp.zeros_like(dk[:, :, :n_memory]), dq], axis=2)
        dboth, dqkv_net = qkv_pullback(xp.concatenate([join_heads(part) for part in (dasked, dk, dv)], axis=-1))
        dweights = (dqkv_net["weight"], dr_net["weight"], dout["weight"])
        dparams = dict(zip(KEYS, (*dweights, dcontent_bias, dposition_bias), strict=True))
        return dboth[:, n_memory:], dboth[:, :n_memory], drelative[0], keyed_as(dparams, params)

    return y, pullback


def _check(x, memory, relative, params, n_head):
    check_params(params, KEYS)
    check_floating(x=x, memory=memory, relative=relative, params=params)
    check_shape("x", x, (None, None, None))
    d_model = x.shape[-1]
    check_shape("memory", memory, (x.shape[0], None, d_model))
    check_shape("relative", relative, (memory.shape[1] + x.shape[1], d_model))
    check_shape("r_w_bias", params["r_w_bias"], (None, None))
    check_setting("n_head", n_head, n_head == params["r_w_bias"].shape[0], "the first size of r_w_bias")
    d_inner = n_head * params["r_w_bias"].shape[1]
    check_shape("r_r_bias", params["r_r_bias"], params["r_w_bias"].shape)
    check_shape("qkv_net.weight", params["qkv_net.weight"], (3 * d_inner, d_model))
    check_shape("r_net.weight", params["r_net.weight"], (d_inner, d_model))
    check_shape("o_net.weight", params["o_net.weight"], (d_model, d_inner))
